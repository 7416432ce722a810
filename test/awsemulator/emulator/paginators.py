"""python -m emulator.paginators: name the operations that the models page.

Standard input is a JSON list of services, by their names in botocore. Standard output is a JSON object
{service: [operation]}.
"""

from __future__ import annotations

import json
import sys

import botocore.session


def main() -> None:
    """Answer standard input."""
    session = botocore.session.get_session()
    paginated = {}
    for service in json.load(sys.stdin):
        model = session.get_paginator_model(service)
        paginated[service] = sorted(model._paginator_config)
    print(json.dumps(paginated, indent=1))


if __name__ == "__main__":
    main()
