"""What Spark's master and YARN's resource manager say of applications, behind a real socket."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def of_master(application: str, state: str, started: float, lasted: float) -> dict[str, Any]:
    """`/json/` of the web UI of Spark 3.5's master. Times in seconds."""
    milliseconds = {"starttime": round(started * 1000), "duration": round(lasted * 1000)}
    found = {"id": application, "name": "job", "user": "etl", "state": state, **milliseconds}
    running = state == "RUNNING"
    lists = {"activeapps": [found] * running, "completedapps": [found] * (not running)}
    return {"url": "spark://m:7077", "workers": [], "status": "ALIVE", **lists}


def of_yarn(application: str, state: str, ended: float) -> dict[str, Any]:
    """`/ws/v1/cluster/apps/<id>` of YARN 3."""
    found = {"id": application, "user": "etl", "state": state, "finalStatus": "UNDEFINED"}
    return {"app": {**found, "startedTime": 1, "finishedTime": round(ended * 1000)}}


@contextmanager
def answering(documents: dict[str, Any]) -> Iterator[str]:
    """The URL of a server that has these JSON documents by path; they may change."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path)
            body = json.dumps(found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
