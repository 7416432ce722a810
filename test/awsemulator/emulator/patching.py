"""The two ways in which this package changes moto.

Both fail at start when moto's shape is not the expected one, because a patch
that silently misses would make tests pass for the wrong reason.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def wrap(owner: Any, name: str) -> Callable[[Function], Function]:
    """Replace owner.name by a function that gets the original as its first argument."""
    original = getattr(owner, name, None)
    if original is None:
        raise RuntimeError(f"moto has no {owner.__name__}.{name} to change; was its version raised?")

    def decorate(function: Function) -> Function:
        @functools.wraps(original)
        def patched(*args: Any, **kwargs: Any) -> Any:
            return function(original, *args, **kwargs)

        setattr(owner, name, patched)
        return function

    return decorate


def add(owner: Any, name: str) -> Callable[[Function], Function]:
    """Give owner a method that moto does not have."""
    if hasattr(owner, name):
        raise RuntimeError(f"moto now has {owner.__name__}.{name} itself; compare, then remove ours")

    def decorate(function: Function) -> Function:
        setattr(owner, name, function)
        return function

    return decorate
