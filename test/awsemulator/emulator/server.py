"""The HTTP server, put together."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.test import EnvironBuilder

# Importing a module applies its patches.
from . import (  # noqa: F401
    buckets,
    consistency,
    control,
    dependencies,
    endpoints,
    fleets,
    iam,
    instances,
    launch,
    loadbalancers,
    network,
    paging,
    privatelink,
    quotas,
    route53,
    sharing,
    speed,
    tags,
    webidentity,
)
from .frontdoor import FrontDoor
from .patching import wrap


@wrap(DomainDispatcherApplication, "get_service_from_unsigned_path")
def _unsigned_path(_: Any, path: str) -> tuple[None, None]:
    # moto takes every unsigned request for a discovery document for one to
    # Cognito; here it is an issuer's object in S3.
    return None, None


DomainDispatcherApplication.get_service_from_unsigned_path = staticmethod(  # type: ignore[method-assign]
    DomainDispatcherApplication.get_service_from_unsigned_path
)


class _Handler(MotoRequestHandler):
    """One connection: no line per request, for the call log says it better; and faults may break it."""

    # Head and body of an answer leave together. The Go SDK closes the body of its request when it has the head; on a
    # busy machine net/http may not be done with that body yet, and then gives up the connection before the answer's
    # body is read. A call that has succeeded looks failed, and is repeated.
    wbufsize = 1 << 20

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def connection_dropped(self, error: BaseException, environ: Any = None) -> None:
        # No FIN, no answer: as when a load balancer on the way dies. Without
        # close_connection the handler would wait for the next request.
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


def make(host: str, port: int) -> BaseWSGIServer:
    """Make the server; it listens when this returns."""
    door = FrontDoor(DomainDispatcherApplication(create_backend_app))

    def fetch(url: str) -> tuple[int, bytes]:
        address, path = webidentity.locate(url)
        if not address.endswith(".amazonaws.com") or "s3" not in address.split("."):
            return 404, b""  # the emulator knows no other web server
        return door.fetch(EnvironBuilder(path=path, base_url=f"http://{address}").get_environ())

    webidentity.fetch_with(fetch)

    def application(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith(control.PREFIX):
            status, text = control.handle(environ)
            body = text.encode()
            start(f"{status} ", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
            return [body]
        return door(environ, start)

    return make_server(host, port, application, threaded=True, request_handler=_Handler)
