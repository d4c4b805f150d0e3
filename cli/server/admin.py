"""`causeway admin`: what runs in a proxy, and what its operator does to it."""

import argparse
import http.client
import json
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cli.errors import AdminRefused, NoAdmin
from cli.target import add_target_arguments, load_settings
from conf.printable import escaped, json_text
from conf.settings.operating import Operating
from proxy.protocol.request_guard import XSRF_HEADER

_PATIENCE = 60.0  # seconds
_WIDE = 60  # characters of a statement in a line


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in (
        ("sessions", "who is there, and where their sessions are"),
        ("statements", "what is not closed yet, with the decision for it"),
        ("clusters", "the Thrift Servers: health, load, drained or not"),
        ("cache", "what is kept of the metastore"),
        ("reload", "read the settings anew, as HUP does"),
    ):
        add_target_arguments(_with_json(actions.add_parser(name, help=summary)))
    killing = _with_json(actions.add_parser("kill", help="end a statement or a whole session"))
    killing.add_argument("id", help="what `statements` or `sessions` show, or its beginning")
    add_target_arguments(killing)
    for name, summary in (
        ("drain", "no new sessions there; those that are there go on"),
        ("resume", "new sessions again"),
        ("activate", "the same as resume"),
    ):
        action = _with_json(actions.add_parser(name, help=summary))
        action.add_argument("place", metavar="CLUSTER|HOST:PORT")
        add_target_arguments(action)


def _with_json(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--json", action="store_true", help="the answer as the REST API gives it")
    return parser


def run(args: argparse.Namespace) -> int:
    operating = load_settings(args).operating
    action: str = args.action
    if action == "kill":
        told = _kill(operating, args.id)
    elif action in ("drain", "resume", "activate"):
        kind = "endpoints" if ":" in args.place else "clusters"
        told = call(operating, "POST", f"/v1/{kind}/{quote(args.place, safe='')}/{action}")
    elif action == "reload":
        told = call(operating, "POST", "/v1/reload")
    else:
        told = call(operating, "GET", f"/v1/{action}")
    if args.json:
        print(json_text(told, indent=2))
    else:
        print("\n".join(_SHOWN[action](told)))
    return 0


def call(operating: Operating, method: str, path: str) -> Any:
    """The API's answer. Raises NoAdmin, and AdminRefused with its words."""
    connection = _connection(operating)
    try:
        connection.request(method, path, headers=_headers(operating))
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAdmin(f"the proxy's administration does not answer: {error}.") from error
    finally:
        connection.close()
    if response.status != http.client.OK:
        raise AdminRefused(str(answer.get("error", response.reason)))
    return answer


class _Local(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _connection(operating: Operating) -> http.client.HTTPConnection:
    if operating.admin_socket is not None:
        return _Local(operating.admin_socket)
    if operating.admin is not None:
        where = operating.admin
        return http.client.HTTPConnection(where.host, where.port, timeout=_PATIENCE)
    raise NoAdmin("the settings name no port or socket of the administration.")


def _headers(operating: Operating) -> dict[str, str]:
    headers = {XSRF_HEADER: "causeway"}
    if operating.admin_socket is not None or operating.admin_token is None:
        return headers
    try:
        token = operating.admin_token.path.read_text().strip()
    except OSError as error:
        raise NoAdmin(f"{operating.admin_token}: {error.strerror}.") from error
    return headers | {"Authorization": f"Bearer {token}"}


def _kill(operating: Operating, beginning: str) -> Any:
    """Ends the one statement or session whose id begins so. Raises AdminRefused."""
    found = []
    for kind, key in (("statements", "statement"), ("sessions", "session")):
        there = {each[key] for each in call(operating, "GET", f"/v1/{kind}")}
        found += [(kind, name) for name in there if name.startswith(beginning)]
    if len(found) != 1:
        how = "Nothing" if not found else f"Not one but {len(found)} things"
        raise AdminRefused(f"{how} there whose id begins with {beginning!r}.")
    ((kind, name),) = found
    return call(operating, "POST", f"/v1/{kind}/{name}/kill")


def _sessions(told: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("SESSION", "USER", "ADDRESS", "IDLE", "RUNNING", "CLUSTERS", "LAST")]
    for each in told:
        where = ",".join(sorted(each["clusters"])) or "-"
        rows.append(
            (
                each["session"][:12],
                each["user"],
                each["address"],
                f"{each['idle']:.0f} s",
                str(each["running"]),
                where,
                _short(each["last"]),
            )
        )
    return _columns(rows)


def _statements(told: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("STATEMENT", "USER", "STATE", "SECONDS", "RULE", "CLUSTER", "TEXT")]
    for each in told:
        rows.append(
            (
                each["statement"][:12],
                each["user"],
                each["state"],
                f"{each['seconds'] or 0:.3f}",
                each["rule"] or each["code"] or "-",
                each["cluster"] or "-",
                _short(each["text"]),
            )
        )
    return _columns(rows)


def _clusters(told: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("CLUSTER", "ENDPOINT", "STATE", "SINCE", "SESSIONS", "CONNECTIONS", "WHY")]
    for cluster in told:
        for each in cluster["endpoints"]:
            since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["since"]))
            rows.append(
                (
                    cluster["name"],
                    each["endpoint"],
                    _state(each, cluster["drained"]),
                    since,
                    str(each["sessions"]),
                    str(each["connections"]),
                    each["reason"] or "-",
                )
            )
    return _columns(rows)


def _state(endpoint: dict[str, Any], cluster_drained: bool) -> str:
    words = [{True: "up", False: "down", None: "not tried"}[endpoint["up"]]]
    if cluster_drained or endpoint["drained"]:
        words.append("drained")
    if endpoint.get("checked") is False:
        words.append("claims not checked")
    return ", ".join(words)


def _pairs(told: dict[str, Any]) -> list[str]:
    return [f"{key}: {value}" for key, value in told.items()]


def _reloaded(told: dict[str, Any]) -> list[str]:
    changed = ", ".join(told["changed"]) or "nothing"
    lines = [f"changed: {changed}"]
    if told["restart"]:
        lines.append(f"needs a restart: {', '.join(told['restart'])}")
    return lines


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 2]}.."


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    rows = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


_SHOWN: dict[str, Callable[[Any], list[str]]] = {
    "sessions": _sessions,
    "statements": _statements,
    "clusters": _clusters,
    "cache": _pairs,
    "reload": _reloaded,
    "kill": lambda told: ["killed"],
    "drain": lambda told: ["drained: no new sessions"],
    "resume": lambda told: ["resumed"],
    "activate": lambda told: ["resumed"],
}
