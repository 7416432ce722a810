"""Refusals where moto answers with a page of HTML.

moto raises NotImplementedError for an action or a filter that it does not have,
and its server makes a 500 page of that. An SDK takes that for a passing failure
and repeats it; AWS answers 400 with a code, once.
"""

from __future__ import annotations

from typing import Any

from moto.core.base_backend import BackendDict
from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult, BaseResponse
from moto.ec2.exceptions import DryRunClientError, EC2ClientError, FilterNotImplementedError
from moto.ec2.responses import EC2Response

from . import states
from .patching import wrap


def refuse(code: str, message: str) -> EC2ClientError:
    """Make the error that EC2 answers with; the caller raises it."""
    return EC2ClientError(code, message)


@wrap(BaseResponse, "call_action")
def _call_action(original: Any, self: BaseResponse) -> Any:
    states.sweep()
    refusal: ServiceException
    try:
        if isinstance(self, EC2Response) and str(self._get_param("DryRun", False)).lower() == "true":
            raise DryRunClientError()
        return original(self)
    except ServiceException as raised:
        refusal = raised
    except FilterNotImplementedError as raised:
        refusal = refuse("InvalidParameterValue", str(raised))
    except NotImplementedError as raised:
        refusal = refuse(
            "InvalidAction", f"The action {self._get_action()} is not valid for this web service. {raised}"
        )
    status, headers, body = self.serialized(ActionResult(refusal))
    headers["status"] = str(status)
    return status, headers, body


class _EachOnce(list[Any]):
    """A list that keeps one entry per identity."""

    def append(self, item: Any) -> None:
        if not any(item is known for known in self):
            super().append(item)


# moto registers a service once per account that uses it, so that whoever walks
# the registry (tagging.GetResources) meets each resource several times.
BackendDict._instances = _EachOnce(BackendDict._instances)  # type: ignore[misc]
