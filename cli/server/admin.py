"""`causeway admin`: shows the sessions and statements of a running proxy, and administers it."""

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
from conf.formats import size_text
from conf.logs.printable import escaped, json_text
from conf.settings.operating import Operating
from proxy.administration.operator_client import connection_to
from proxy.administration.operator_tokens import first_token
from proxy.protocol.request_guard import XSRF_HEADER

_TIMEOUT = 60.0  # seconds
_WIDTH = 60  # characters that are printed of a statement


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in (
        ("sessions", "list open sessions and the clusters that they use"),
        ("statements", "list statements that are not closed, with the decision for each"),
        ("copies", "list running copies for statements"),
        ("clusters", "list Thrift Servers with health, load and whether they are drained"),
        ("cache", "show how much of the metastore is in memory"),
        ("admission", "show the maintenance message and the blocked users"),
        ("reload", "reload the settings, as SIGHUP does"),
    ):
        add_target_arguments(_with_json(actions.add_parser(name, help=summary)))
    killing = _with_json(actions.add_parser("kill", help="cancel a statement or close a session"))
    killing.add_argument(
        "id", metavar="ID", help="id of a statement or session, or the beginning of the id"
    )
    add_target_arguments(killing)
    for name, summary in (
        ("block", "close all sessions of a user, and open no new ones"),
        ("unblock", "end block"),
    ):
        action = _with_json(actions.add_parser(name, help=summary))
        action.add_argument("user", metavar="USER", help="name of the user")
        add_target_arguments(action)
    pausing = _with_json(
        actions.add_parser("maintenance", help="refuse new statements; running statements continue")
    )
    pausing.add_argument("message", nargs="?", metavar="MESSAGE", help="shown to users")
    pausing.add_argument("--end", action="store_true", help="accept statements again")
    add_target_arguments(pausing)
    for name, summary in (
        ("drain", "stop opening sessions in a cluster or Thrift Server; open sessions stay"),
        ("resume", "end drain"),
        ("activate", "the same as resume"),
    ):
        action = _with_json(actions.add_parser(name, help=summary))
        action.add_argument(
            "place", metavar="CLUSTER|HOST:PORT", help="a cluster or one of its Thrift Servers"
        )
        add_target_arguments(action)


def _with_json(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--json", action="store_true", help="print the answer of the REST API")
    return parser


def run(args: argparse.Namespace) -> int:
    operating = load_settings(args).operating
    action: str = args.action
    if action == "kill":
        answer = _kill(operating, args.id)
    elif action in ("drain", "resume", "activate"):
        kind = "endpoints" if ":" in args.place else "clusters"
        answer = call(operating, "POST", f"/v1/{kind}/{quote(args.place, safe='')}/{action}")
    elif action in ("block", "unblock"):
        answer = call(operating, "POST", f"/v1/users/{quote(args.user, safe='')}/{action}")
    elif action == "maintenance":
        message = args.message or ("-" if args.end else "Causeway is in maintenance.")
        change = "end" if args.end else "begin"
        answer = call(operating, "POST", f"/v1/maintenance/{quote(message, safe='')}/{change}")
    elif action == "reload":
        answer = call(operating, "POST", "/v1/reload")
    else:
        answer = call(operating, "GET", f"/v1/{action}")
    if args.json:
        print(json_text(answer, indent=2))
    else:
        print("\n".join(_SHOWN[action](answer)))
    return 0


def call(operating: Operating, method: str, path: str) -> Any:
    """Calls the REST API and returns its response. Raises NoAdmin, and AdminRefused with the API's
    error."""
    try:
        connection = _connection(operating)
    except OSError as error:
        raise NoAdmin(f"proxy.admin.ca.file: {error.strerror or error}.") from error
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


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_TIMEOUT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _connection(operating: Operating) -> http.client.HTTPConnection:
    if operating.admin_socket is not None:
        return _UnixConnection(operating.admin_socket)
    if operating.admin is not None:
        endpoint = operating.admin
        return connection_to(endpoint, operating.access, _TIMEOUT)
    raise NoAdmin("the settings name no port or socket of the administration.")


def _headers(operating: Operating) -> dict[str, str]:
    headers = {XSRF_HEADER: "causeway"}
    if operating.admin_socket is not None or operating.admin_token is None:
        return headers
    try:
        token = first_token(operating.admin_token)
    except UnicodeDecodeError as error:
        raise NoAdmin(f"{operating.admin_token}: not UTF-8 text.") from error
    except OSError as error:
        raise NoAdmin(f"{operating.admin_token}: {error.strerror}.") from error
    return headers | {"Authorization": f"Bearer {token}"}


def _kill(operating: Operating, prefix: str) -> Any:
    """Kills the statement or session whose id has this prefix. Raises AdminRefused unless exactly
    one has it."""
    found = []
    for kind, key in (("statements", "statement"), ("sessions", "session")):
        ids = {each[key] for each in call(operating, "GET", f"/v1/{kind}")}
        found += [(kind, name) for name in ids if name.startswith(prefix)]
    if len(found) != 1:
        number = len(found) or "No"
        raise AdminRefused(f"{number} ids of statements and sessions begin with {prefix!r}.")
    ((kind, name),) = found
    return call(operating, "POST", f"/v1/{kind}/{name}/kill")


def _sessions(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("SESSION", "USER", "ADDRESS", "IDLE", "RUNNING", "CLUSTERS", "LAST")]
    for each in found:
        clusters = ",".join(sorted(each["clusters"])) or "-"
        rows.append(
            (
                each["session"][:12],
                each["user"],
                each["address"],
                f"{each['idle']:.0f} s",
                str(each["running"]),
                clusters,
                short(each["last"]),
            )
        )
    return columns(rows)


def _statements(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("STATEMENT", "USER", "STATE", "SECONDS", "RULE", "CLUSTER", "TEXT")]
    for each in found:
        rows.append(
            (
                each["statement"][:12],
                each["user"],
                each["state"],
                f"{each['seconds'] or 0:.3f}",
                each["rule"] or each["code"] or "-",
                each["cluster"] or "-",
                short(each["text"]),
            )
        )
    return columns(rows)


def _copies(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("STATEMENT", "TABLE", "PARTITIONS", "FROM", "TO", "SECONDS", "SENT", "OF", "A SECOND")]
    for each in found:
        rows.append(
            (
                each["statement"][:12] or "-",
                each["table"],
                str(each["partitions"] or "all"),
                each["source"],
                each["target"],
                f"{each['seconds']:.0f}",
                size_text(each["bytes"]),
                "-" if each["total"] is None else size_text(each["total"]),
                size_text(each["rate"]),
            )
        )
    return columns(rows)


def _clusters(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("CLUSTER", "ENDPOINT", "STATE", "SINCE", "SESSIONS", "CONNECTIONS", "WHY")]
    for cluster in found:
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
    return columns(rows)


def _state(endpoint: dict[str, Any], cluster_drained: bool) -> str:
    states = [{True: "up", False: "down", None: "not tried"}[endpoint["up"]]]
    if cluster_drained or endpoint["drained"]:
        states.append("drained")
    if endpoint.get("checked") is False:
        states.append("claims not checked")
    return ", ".join(states)


def _pairs(counts: dict[str, Any]) -> list[str]:
    return [f"{key}: {value}" for key, value in counts.items()]


def _reloaded(result: dict[str, Any]) -> list[str]:
    changed = ", ".join(result["changed"]) or "nothing"
    lines = [f"changed: {changed}"]
    if result["restart"]:
        lines.append(f"needs a restart: {', '.join(result['restart'])}")
    return lines


def short(text: str) -> str:
    """The text in one line, cut to some 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 2]}.."


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines with aligned columns; unprintable characters are escaped."""
    rows = [[escaped(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


_SHOWN: dict[str, Callable[[Any], list[str]]] = {
    "sessions": _sessions,
    "statements": _statements,
    "copies": _copies,
    "clusters": _clusters,
    "cache": _pairs,
    "reload": _reloaded,
    "admission": lambda answer: [
        f"maintenance: {answer['maintenance'] or '-'}",
        f"blocked: {', '.join(answer['blocked']) or '-'}",
    ],
    "block": lambda answer: [f"blocked, sessions closed: {answer['closed']}"],
    "unblock": lambda answer: ["unblocked"],
    "maintenance": lambda answer: [f"statements that still run: {answer['running']}"],
    "kill": lambda answer: ["killed"],
    "drain": lambda answer: ["drained: no new sessions"],
    "resume": lambda answer: ["resumed"],
    "activate": lambda answer: ["resumed"],
}
