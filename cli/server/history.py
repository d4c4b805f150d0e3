"""`causeway history`: searches ended statements, copies and instances in `history.store`.

    causeway history [--user --table --cluster --refused --slower-than ..]
    causeway history copies [--table --from --to --state --entity --statement ..]
    causeway history instances [--kind --name --action --cluster --source --state ..]
    causeway history refusals|lineage|traffic [--since ..]

Prints a table, or with --json the answer of the REST API.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.errors import NoHistory
from cli.server.admin import columns, short
from cli.target import add_target_arguments, load_settings
from conf.kinds import seconds
from conf.logs.printable import json_text

_AGO = re.compile(r"\d+(?:\.\d+)?(?:ms|sec|s|min|m|h)")
_FILTERS = {
    "user": ("USER", "statements that ran as this user"),
    "table": ("DB.TABLE", "statements and copies that read, wrote or copied this table"),
    "cluster": ("CLUSTER", "statements and instances that ran in this cluster"),
    "fingerprint": ("HEX", "statements with this fingerprint: they differ only in literals"),
    "from": ("CLUSTER", "copies from this cluster"),
    "to": ("CLUSTER", "copies to this cluster"),
    "entity": ("TYPE/NAME", "copies that this feed or process made"),
    "statement": ("ID", "copies that this statement made"),
    "state": ("STATE", "copies and instances that ended in this state"),
    "kind": ("TYPE", "instances of feeds or of processes"),
    "name": ("NAME", "instances of the feed or process with this name"),
    "action": (
        "ACTION",
        "instances of this work: replicate, evict, watch, process, import or export",
    ),
    "source": ("CLUSTER", "instances that replicate from this cluster"),
    "instance": ("ID", "the instance with this id"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        choices=list(_LINES),
        default="statements",
        metavar="WHAT",
        help=f"{', '.join(_LINES)} (%(default)s)",
    )
    add_target_arguments(parser)
    for name, (metavar, text) in _FILTERS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    parser.add_argument(
        "--refused",
        action="store_true",
        help="statements that Causeway ended before a cluster ran them",
    )
    parser.add_argument(
        "--slower-than",
        type=_seconds,
        metavar="TIME",
        help="statements that took longer, such as 20s or 5m",
    )
    parser.add_argument(
        "--since",
        type=_since,
        metavar="TIME",
        help="statements that arrived, and work that ended, since this time: 2026-01-31,"
        " 2026-01-31T06:00 (UTC), or 30m or 24h ago",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="print at most N (100)")
    parser.add_argument("--before", metavar="NEXT", help="the `next` of the previous page")
    parser.add_argument("--json", action="store_true", help="print the answer of the REST API")


def run(args: argparse.Namespace) -> int:
    url = load_settings(args).operating.history_store
    if not url:
        raise NoHistory("the settings name no history.store.")
    if not url.startswith("postgres") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NoHistory(f"there is no history in {url} yet.")
    from database.history.history_store import HistoryStore

    answer = HistoryStore(url).answer(args.what, _parameters(args))
    if args.json:
        print(json_text(answer, indent=2))
    else:
        print("\n".join(columns(_LINES[args.what](answer))))
        if answer.get("next") is not None:
            print(f"older ones: --before {answer['next']}")
    return 0


def _parameters(args: argparse.Namespace) -> dict[str, str]:
    names = (*_FILTERS, "slower_than", "since", "limit", "before")
    given = {name: getattr(args, name) for name in names}
    parameters = {name: str(value) for name, value in given.items() if value is not None}
    return parameters | ({"refused": "true"} if args.refused else {})


Rows = Sequence[tuple[str, ...]]


def _rows(head: str, found: Iterable[Iterable[object]]) -> Rows:
    cells = (tuple("-" if each in (None, "") else str(each) for each in row) for row in found)
    return [tuple(head.split()), *cells]


def _statements(page: Mapping[str, Any]) -> Rows:
    return _rows(
        "TIME STATEMENT USER STATE SECONDS CLUSTER RULE CODE TEXT",
        (
            (
                each["time"],
                each["statement"][:12],
                each["user"],
                each["state"],
                f"{each['seconds'] or 0:.3f}",
                *(each[name] for name in ("cluster", "rule", "code")),
                short(each["text"]),
            )
            for each in page["statements"]
        ),
    )


def _copies(page: Mapping[str, Any]) -> Rows:
    names = ("time", "copy", "table", "from", "to", "state", "partitions", "files", "bytes", "sent")
    return _rows(
        "TIME COPY TABLE FROM TO STATE PARTITIONS FILES BYTES SENT SECONDS ERROR",
        (
            (*(each[name] for name in names), each["seconds"], short(each["error"]))
            for each in page["copies"]
        ),
    )


def _instances(page: Mapping[str, Any]) -> Rows:
    names = ("time", "nominal", "kind", "name", "action", "cluster", "state", "run", "attempt")
    return _rows(
        "TIME NOMINAL TYPE NAME ACTION CLUSTER STATE RUN ATTEMPT BYTES DETAIL",
        (
            (*(each[name] for name in names), each["bytes"], short(each["detail"]))
            for each in page["instances"]
        ),
    )


def _refusals(answer: Mapping[str, Any]) -> Rows:
    names = ("table", "cluster", "kind", "statements", "freed", "users", "partitions", "bytes")
    return _rows(
        "TABLE CLUSTER KIND STATEMENTS FREED USERS PARTITIONS BYTES EXAMPLE",
        (
            (*(each[name] for name in names), next(iter(each["examples"]), ""))
            for each in answer["refusals"]
        ),
    )


def _lineage(answer: Mapping[str, Any]) -> Rows:
    names = ("source", "target", "statements", "last", "example")
    return _rows(
        "SOURCE TARGET STATEMENTS LAST EXAMPLE",
        ((each[name] for name in names) for each in answer["edges"]),
    )


def _traffic(answer: Mapping[str, Any]) -> Rows:
    names = ("from", "to", "copies", "failed", "bytes")
    return _rows(
        "FROM TO COPIES FAILED BYTES",
        ((each[name] for name in names) for each in answer["traffic"]),
    )


_LINES: dict[str, Callable[[Mapping[str, Any]], Rows]] = {
    "statements": _statements,
    "copies": _copies,
    "instances": _instances,
    "refusals": _refusals,
    "lineage": _lineage,
    "traffic": _traffic,
}


def _seconds(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _since(text: str) -> str:
    return str(time.time() - seconds(text)) if _AGO.fullmatch(text) else text
