"""An S3 on 127.0.0.1 (moto, in a Python of its own), and a proxy before it that counts and fails.

`make build/moto/bin/moto_server` installs moto.
"""

import os
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

MOTO = Path(__file__).parents[3] / "build/moto/bin/moto_server"
BUCKET = "lake"
SECRET = "a-secret-that-no-message-has"
_READY = 120  # seconds at most
# moto does not check signatures.
_SIGNED = {
    "Content-Type": "application/octet-stream",
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request,"
    "SignedHeaders=host,Signature=0",
}
_HOP = {"connection", "transfer-encoding", "content-length", "date", "server"}


@dataclass(frozen=True)
class Request:
    """One request: `GET`, `PUT`, `HEAD`, `LIST`, .. and its key (of a list call, its prefix).
    A `PUT` that copies an object of the store is a `COPY`."""

    kind: str
    key: str


@dataclass
class S3Server:
    """The stand-in. `requests` are without repeated attempts, which a slow machine makes.

    `fault` sees each request before S3 does: it may sleep, and returns an HTTP status to answer
    with, 0 to break the connection off, or None to pass it on. `edit` changes an answer's body, and
    `lost` says whether the answer is lost. With `deaf` the store ignores conditions.
    """

    upstream: int
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    fault: Callable[[Request], int | None] = lambda request: None
    edit: Callable[[Request, bytes], bytes] = lambda request, body: body
    lost: Callable[[Request], bool] = lambda request: False
    deaf: bool = False

    def reset(self) -> None:
        self.requests.clear()
        self.fault = lambda request: None
        self.edit = lambda request, body: body
        self.lost = lambda request: False
        self.deaf = False

    @property
    def settings(self) -> dict[str, str]:
        """Hadoop's settings of the bucket."""
        return {
            "fs.s3a.endpoint": f"http://127.0.0.1:{self.port}",
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": "test",
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.attempts.maximum": "3",
        }

    def count(self, kind: str) -> int:
        return sum(request.kind == kind for request in self.requests)

    def put(self, key: str, body: bytes) -> None:
        url = f"http://127.0.0.1:{self.upstream}/{BUCKET}/{urllib.request.quote(key)}"
        _answer(urllib.request.Request(url, body, _SIGNED, method="PUT"))

    def put_folder(self, folder: Path, prefix: str) -> str:
        """The URI of the folder's files in the bucket."""
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            self.put(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())
        self.requests.clear()
        return f"s3a://{BUCKET}/{prefix}"


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """An S3 with an empty bucket. Skips where moto is not installed."""
    if not MOTO.exists():
        pytest.skip(f"no S3 to test with: {MOTO} is not there")
    command = [str(MOTO.with_name("python")), "-c", _SERVE]
    environment = {**os.environ, "PYTHONPATH": ""}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as moto:
        assert moto.stdout is not None
        assert moto.stdin is not None
        port = int(moto.stdout.readline())
        proxy = _Proxy(("127.0.0.1", 0), _handler(server := S3Server(port)))
        server.port = proxy.server_port
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            _answer(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT"))
            yield server
        finally:
            proxy.shutdown()
            proxy.server_close()
            moto.stdin.close()
            moto.wait(60)


def site(s3: S3Server, folder: Path) -> str:
    """A directory of Hadoop's settings."""
    folder.mkdir()
    entries = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in s3.settings.items()
    )
    (folder / "core-site.xml").write_text(f"<configuration>{entries}</configuration>")
    return str(folder)


# Ends with its parent: its standard input ends then.
_SERVE = """
import logging, os, sys, threading
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
os._exit(0)
"""


def _answer(request: urllib.request.Request) -> bytes:
    deadline = time.monotonic() + _READY
    while True:
        try:
            with urllib.request.urlopen(request, timeout=_READY) as answer:
                return answer.read()
        except ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that are killed leave broken connections."""


def _handler(server: S3Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            copies = "x-amz-copy-source" in self.headers
            request = _request("COPY" if copies else self.command, self.path)
            if "attempt=1" in self.headers.get("amz-sdk-request", "attempt=1"):
                server.requests.append(request)
            status = server.fault(request)
            if status == 0:
                self.close_connection = True
                return
            if status is not None:
                self._send(status, {}, b"", None)
                return
            headers = dict(self.headers)
            if server.deaf:
                headers = {n: v for n, v in headers.items() if not n.lower().startswith("if-")}
            connection = HTTPConnection("127.0.0.1", server.upstream, timeout=_READY)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = server.edit(request, answer.read())
            length = answer.getheader("Content-Length")
            connection.close()
            if server.lost(request):
                self.close_connection = True
                return
            self._send(answer.status, dict(answer.getheaders()), content, length)

        def _send(
            self, status: int, headers: dict[str, str], body: bytes, length: str | None
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            head = self.command == "HEAD" and length is not None
            self.send_header("Content-Length", length if head else str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _any

    return Handler


def _request(method: str, path: str) -> Request:
    url = urlsplit(path)
    query = parse_qs(url.query)
    if "list-type" in query:
        return Request("LIST", query.get("prefix", [""])[0])
    return Request(method, urllib.request.unquote(url.path.partition(f"/{BUCKET}/")[2]))
