"""python -m emulator: serve until standard input ends.

Whoever starts this holds the other end of standard input. When that process
dies, however it dies, the pipe closes and the server goes too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import warnings


def main() -> None:
    """Parse flags, print one line of JSON with the URL when ready, and serve."""
    parser = argparse.ArgumentParser(prog="emulator", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on; 0 takes a free one")
    parser.add_argument("--stay", action="store_true", help="go on when standard input ends")
    arguments = parser.parse_args()

    from . import server  # after --help: importing moto takes a second

    # moto warns of error codes that are missing in botocore's models; AWS sends them all the same.
    warnings.filterwarnings("ignore", module=r"moto\.core\.serialize")

    serving = server.make(arguments.host, arguments.port)
    print(json.dumps({"url": f"http://{arguments.host}:{serving.port}"}), flush=True)
    if not arguments.stay:
        threading.Thread(target=_leave_with_parent, daemon=True).start()
    serving.serve_forever()


def _leave_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
