"""A collector of OpenTelemetry and a server of OpenLineage, which keep what they receive."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver:
    """`spans` by name, `events` in order of arrival; `status` is the status of all replies."""

    def __init__(self) -> None:
        self.spans: dict[str, Any] = {}
        self.events: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()
        self.status = 200
        self.port = 0

    @property
    def traces_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/traces"

    @property
    def lineage_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def await_events(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.events) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(self.events) >= count

    def take(self, path: str, body: bytes, token: str | None) -> None:
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    self.spans |= {span.name: span for span in scope.spans}
        else:
            self.tokens.add(token)
            self.events.append(json.loads(body))


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span, by name."""
    values = {each.key: each.value for each in span.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in values.items()}


@contextmanager
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if found.status == 200:
                found.take(self.path, body, self.headers["Authorization"])
            self.send_response(found.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
