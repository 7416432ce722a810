"""Pages, where moto returns everything.

A controller that forgets NextToken works until the day there are more resources
than fit on a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moto.core.responses import ActionResult

from .errors import refuse


def page(response: Any, key: str, items: Sequence[Any], **more: Any) -> ActionResult:
    """Answer with the part of items that MaxResults and NextToken ask for."""
    start = response._get_param("NextToken") or "0"
    if not start.isdigit():
        raise refuse("InvalidNextToken", f"The token '{start}' is invalid.")
    size = int(response._get_param("MaxResults") or 0) or len(items) or 1
    end = int(start) + size
    following = str(end) if end < len(items) else None
    return ActionResult({key: list(items[int(start) : end]), "NextToken": following, **more})
