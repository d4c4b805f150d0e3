"""`causeway admin` calls a running proxy over a port with a token, or over a Unix socket."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.secret_files import private

SESSION = {
    "session": "ab" * 16,
    "user": "ann",
    "address": "10.0.0.1",
    "idle": 3.2,
    "running": 1,
    "clusters": {"east": "h:1"},
    "last": "SELECT\n 1",
}
STATEMENT = {
    "statement": "cd" * 16,
    "user": "ann",
    "state": "RUNNING",
    "seconds": 1.5,
    "rule": "output",
    "code": "",
    "cluster": "east",
    "text": "INSERT INTO t SELECT 1",
}
COPY = {
    "statement": "ef" * 16,
    "table": "sample.visits",
    "partitions": 3,
    "source": "west",
    "target": "east",
    "seconds": 2.0,
    "bytes": 3_000_000,
    "total": None,
    "rate": 1_500_000,
}
ENDPOINT = {"endpoint": "h:1", "up": False, "since": 0, "reason": "no answer in time"}
CLUSTER = {
    "name": "east",
    "drained": True,
    "endpoints": [
        {**ENDPOINT, "drained": False, "sessions": 2, "connections": 5, "checked": False}
    ],
}
ANSWERS = {
    "/v1/sessions": [SESSION],
    "/v1/statements": [STATEMENT],
    "/v1/copies": [COPY],
    "/v1/clusters": [CLUSTER],
    "/v1/cache": {"tables": 7},
    "/v1/reload": {"changed": [], "restart": ["proxy.audit.file"]},
}


@contextmanager
def proxy(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Settings with the address of an API that accepts everything, and its requests."""
    log: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            log.append(f"{self.command} {self.path}")
            answer: Any = ANSWERS.get(self.path, {"killed": 1, "closed": 1, "running": 0})
            status = 200
            if self.headers["Authorization"] != "Bearer word":
                status, answer = 401, {"error": "The token is missing or wrong."}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        private(folder / "token", "word\n")
        conf = folder / "causeway.toml"
        conf.write_text(
            f"proxy.admin.port = {server.server_port}\n"
            f'proxy.admin.token.file = "{folder / "token"}"\n'
        )
        try:
            yield str(conf), log
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["sessions"], ["SESSION", "abababababab", "10.0.0.1", "3 s", "east", "SELECT 1"]),
        (["statements"], ["cdcdcdcdcdcd", "RUNNING", "1.500", "output", "INSERT INTO t SELECT 1"]),
        (["clusters"], ["down, drained, claims not checked", "h:1", "no answer in time"]),
        (["copies"], ["efefefefefef", "sample.visits", "3.0 MB", "1.5 MB", "west", "east"]),
        (["cache"], ["tables: 7"]),
        (["reload"], ["changed: nothing", "needs a restart: proxy.audit.file"]),
    ],
)
def test_show_actions_print_tables(
    words: list[str], shown: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with proxy(tmp_path) as (conf, _):
        assert main(["admin", *words, "--conf", conf]) == 0
        text = capsys.readouterr().out
        assert [each for each in shown if each not in text] == []
        assert main(["admin", *words, "--conf", conf, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == ANSWERS[f"/v1/{words[0]}"]


@pytest.mark.parametrize(
    ("words", "requests"),
    [
        (["kill", "cdcd"], f"POST /v1/statements/{'cd' * 16}/kill"),
        (["kill", "ab" * 16], f"POST /v1/sessions/{'ab' * 16}/kill"),
        (["drain", "east"], "POST /v1/clusters/east/drain"),
        (["block", "a b"], "POST /v1/users/a%20b/block"),
        (["unblock", "ann"], "POST /v1/users/ann/unblock"),
        (["maintenance", "Till 9/10."], "POST /v1/maintenance/Till%209%2F10./begin"),
        (["maintenance", "--end"], "POST /v1/maintenance/-/end"),
        (["resume", "h:1"], "POST /v1/endpoints/h%3A1/resume"),
        (["activate", "east"], "POST /v1/clusters/east/activate"),
        (["reload"], "POST /v1/reload"),
    ],
)
def test_actions_call_the_api(words: list[str], requests: str, tmp_path: Path) -> None:
    with proxy(tmp_path) as (conf, log):
        assert main(["admin", *words, "--conf", conf]) == 0
        assert log[-1] == requests


def spoil(path: Path) -> None:
    path.write_text("other")


@pytest.mark.parametrize(
    ("change", "words", "printed"),
    [
        (spoil, ["sessions"], "[CW506] The token is missing or wrong."),
        (Path.unlink, ["sessions"], "[CW505]"),
        (
            lambda path: None,
            ["kill", "ff"],
            "[CW506] No ids of statements and sessions begin with 'ff'.",
        ),
        (lambda path: None, ["kill", ""], "[CW506] 2 ids of statements and sessions begin with"),
    ],
)
def test_errors_are_one_line(
    change: Callable[[Path], None],
    words: list[str],
    printed: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with proxy(tmp_path) as (conf, log):
        change(tmp_path / "token")
        assert main(["admin", *words, "--conf", conf]) == 1
        assert printed in capsys.readouterr().err
        assert not [each for each in log if each.startswith("POST")]


def test_no_running_proxy_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text("")
    assert main(["admin", "sessions", "--conf", str(conf)]) == 1
    assert "[CW505] the settings name no port or socket" in capsys.readouterr().err
    conf.write_text(f'proxy.admin.socket = "{tmp_path / "none"}"\n')
    assert main(["admin", "sessions", "--conf", str(conf)]) == 1
    assert "[CW505] the proxy's administration does not answer" in capsys.readouterr().err
