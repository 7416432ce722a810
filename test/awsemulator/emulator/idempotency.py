"""ClientToken: the same call twice makes one resource.

A controller that dies after the call and before it has written the id down
relies on this. AWS remembers the token longer than the resource lives: the same
token after a deletion gives the deleted resource back, not a new one.
"""

from __future__ import annotations

import json
from typing import Any

from moto.ec2.responses import EC2Response

from .errors import refuse
from .patching import wrap

_Key = tuple[str, str, str, str]  # account, region, action, token

_answers: dict[_Key, tuple[str, Any]] = {}


def reset() -> None:
    """Forget all tokens."""
    _answers.clear()


def remember(action: str) -> None:
    """Make a moto EC2 action idempotent by its ClientToken."""

    @wrap(EC2Response, action)
    def _once(original: Any, self: EC2Response) -> Any:
        token = self._get_param("ClientToken")
        if not token:
            return original(self)
        key = (self.current_account, self.region, action, token)
        asked = {name: value for name, value in self._get_params().items() if name != "ClientToken"}
        fingerprint = json.dumps(asked, sort_keys=True, default=str)
        if key in _answers:
            first, answer = _answers[key]
            if first != fingerprint:
                raise refuse(
                    "IdempotentParameterMismatch",
                    f"The client token {token} was used with different parameters before.",
                )
            return answer
        answer = original(self)
        _answers[key] = (fingerprint, answer)
        return answer
