"""What moto looks up again for each request, although it does not change while the server runs.

Two lookups were a third of the time of a call: the list of moto's services, for which it lists a directory and asks the
file system about each entry, and the names of the methods of a service.
"""

from __future__ import annotations

import functools
from typing import Any

from moto import backends
from moto.core import responses

from .patching import Function, wrap


@wrap(backends, "list_of_moto_modules")
def _services(original: Function) -> Any:
    return _listed_once(original)


@wrap(responses, "method_names_from_class")
def _methods(original: Function, clazz: type) -> list[str]:
    return _named_once(original, clazz)


@functools.cache
def _listed_once(original: Function) -> frozenset[str]:
    return frozenset(original())


@functools.cache
def _named_once(original: Function, clazz: type) -> list[str]:
    return original(clazz)
