"""The REST API: access, requests that change something, malformed requests."""

import asyncio
import json
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from conf.roles import Role
from conf.secrets import SecretFile
from conf.settings.operating import Operating
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from proxy.administration.admin_server import AdminServer
from proxy.administration.operator_tokens import caller_of
from proxy.errors import NotFound
from tests.secret_files import private, readable

TOKEN = "a-long-word"
Call = Callable[..., Awaitable[tuple[int, str]]]


def serving(
    use: Callable[[Call, list[tuple[str, str]]], Awaitable[None]],
    folder: Path,
    transports: Transports | None = None,
) -> None:
    """Calls `use` with a function that sends a request, and with the actions received."""
    token, log = folder / "token", list[tuple[str, str]]()
    token.write_text(f"{TOKEN}\n")

    async def run_action(action: str, argument: str) -> Any:
        log.append((action, argument))
        if argument == "nobody":
            return {"killed": 0}
        if argument == "nowhere":
            raise NotFound("There is no cluster 'nowhere'.")
        answers = {"samples": [("causeway_sessions", (), 3)], "health": {"status": "ok"}}
        return answers.get(action, {"done": action})

    async def main() -> None:
        operating = Operating(
            admin=Endpoint("127.0.0.1", 0), admin_token=readable(token), admin_socket=folder / "s"
        )
        server = AdminServer(run_action, transports=transports)
        await server.listen(operating)
        assert server.listening is not None
        port = server.listening.port

        async def call(
            request: str, *headers: str, local: bool = False, raw: bytes = b""
        ) -> tuple[int, str]:
            opening = (
                asyncio.open_unix_connection(folder / "s")
                if local
                else asyncio.open_connection("127.0.0.1", port)
            )
            reader, writer = await opening
            head = "\r\n".join(
                [
                    f"{request} HTTP/1.1",
                    *(
                        headers
                        if any(each.startswith("Host:") for each in headers)
                        else ("Host: localhost", *headers)
                    ),
                    "",
                    "",
                ]
            )
            writer.write(raw or head.encode())
            result = (await reader.read()).decode()
            writer.close()
            return (int(result.split()[1]), result.partition("\r\n\r\n")[2]) if result else (0, "")

        async with asyncio.timeout(120):
            await use(call, log)
        server.close()
        assert not (folder / "s").exists()

    uvloop.run(main())


ALLOWED = f"Authorization: Bearer {TOKEN}"


def test_get_and_post(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        for path in ("sessions", "statements", "clusters", "cache"):
            assert await call(f"GET /v1/{path}", ALLOWED) == (200, f'{{"done": "{path}"}}\n')
        for path, requests in (
            ("sessions/12ab/kill", ("kill-session", "12ab")),
            ("statements/12ab/kill", ("kill-statement", "12ab")),
            ("clusters/east/drain", ("drain", "east")),
            ("clusters/east/activate", ("resume", "east")),
            ("endpoints/h%3A1/resume", ("resume", "h:1")),
            ("reload", ("reload", "")),
        ):
            assert (await call(f"POST /v1/{path}", ALLOWED))[0] == 200
            assert log[-1] == requests
        assert (await call("GET /v1/explain?sql=SELECT+1&cluster=west", ALLOWED))[0] == 200
        assert log[-1] == ("explain", "sql=SELECT+1&cluster=west")
        status, body = await call("GET /v1/history", ALLOWED)
        assert (status, "history.store is not set" in body) == (404, True)

    serving(use, tmp_path)


def test_metrics_and_health_need_no_token(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        status, text = await call("GET /metrics")
        assert status == 200
        assert "\ncauseway_sessions 3.0\n" in text
        assert await call("GET /health") == (200, '{"status": "ok"}\n')

    serving(use, tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        "X: y",
        "Authorization: Bearer",
        "Authorization: Bearer wrong",
        f"Authorization: Basic {TOKEN}",
        f"Cookie: token={TOKEN}",
        "Authorization: Bearer \u00e9",
    ],
)
def test_requests_without_the_token_are_refused(header: str, tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        for request in ("GET /v1/sessions", "POST /v1/reload", "POST /v1/sessions/1/kill"):
            assert (await call(request, header))[0] == 401
        assert log == []

    serving(use, tmp_path)


def test_an_empty_or_missing_token_file_refuses_all(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        (tmp_path / "token").write_text("\n")
        assert (await call("GET /v1/sessions", "Authorization: Bearer "))[0] == 401
        (tmp_path / "token").unlink()
        assert (await call("GET /v1/sessions", ALLOWED))[0] == 401
        assert log == []

    serving(use, tmp_path)


def test_only_the_owner_may_use_the_socket(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        assert (await call("GET /v1/sessions", local=True))[0] == 200
        assert stat.S_IMODE(os.stat(tmp_path / "s").st_mode) == 0o600

    serving(use, tmp_path)


def test_get_changes_nothing_and_unknown_paths_are_404(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        for request in (
            "GET /v1/reload",
            "GET /v1/sessions/1/kill",
            "POST /v1/sessions",
            "POST /v1/clusters/east/kill",
            "POST /v2/clusters/east/drain",
            "GET /",
        ):
            assert (await call(request, ALLOWED))[0] == 404
        assert log == []
        assert (await call("DELETE /v1/sessions", ALLOWED))[0] == 405
        status, text = await call("POST /v1/clusters/nowhere/drain", ALLOWED)
        assert (status, "nowhere" in json.loads(text)["error"]) == (404, True)
        assert (await call("POST /v1/sessions/nobody/kill", ALLOWED))[0] == 404

    serving(use, tmp_path)


def test_malformed_requests_are_refused(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        for raw in (b"\0\1\2\r\n\r\n", b"GET /\r\n" + b"x" * 100_000 + b"\r\n\r\n"):
            assert (await call("", raw=raw))[0] in (400, 431)
        assert log == []

    serving(use, tmp_path)


def test_a_token_file_that_others_can_read_refuses_all(tmp_path: Path) -> None:
    token = private(tmp_path / "token", TOKEN)
    files = {Role.ADMINISTRATOR: SecretFile(token)}
    assert caller_of(TOKEN, files, "h").role is Role.ADMINISTRATOR
    token.chmod(0o644)
    assert caller_of(TOKEN, files, "h").role is None


def test_a_request_for_another_host_is_refused(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        status, text = await call("GET /metrics", "Host: rebound.example")
        assert (status, json.loads(text)["error"][:37]) == (
            421,
            "The request is for another host (prox",
        )
        assert (await call("POST /v1/reload", ALLOWED, "Host: rebound.example"))[0] == 421
        assert log == []
        assert (await call("GET /metrics", "Host: 127.0.0.1:1"))[0] == 200

    serving(use, tmp_path)


def test_the_xsrf_header_is_required_where_enabled(tmp_path: Path) -> None:
    async def use(call: Call, log: list[tuple[str, str]]) -> None:
        assert (await call("POST /v1/reload", ALLOWED))[0] == 400
        assert (await call("POST /v1/reload", ALLOWED, "X-XSRF-HEADER: x"))[0] == 200
        assert (await call("GET /v1/cache", ALLOWED))[0] == 200
        assert (await call("POST /v1/reload", local=True))[0] == 200

    serving(use, tmp_path, Transports(xsrf=True))
