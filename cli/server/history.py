"""`causeway history`: searches the statements that ended, in the database of `history.store`."""

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.errors import NoHistory
from cli.server.admin import columns, short
from cli.target import add_target_arguments, load_settings
from conf.logs.printable import json_text
from conf.settings.kinds import seconds

_AGO = re.compile(r"\d+(?:\.\d+)?(?:ms|sec|s|min|m|h)")


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--user", metavar="USER", help="statements that ran as this user")
    parser.add_argument("--table", metavar="DB.TABLE", help="that read or wrote this table")
    parser.add_argument("--cluster", metavar="CLUSTER", help="that ran in this cluster")
    parser.add_argument(
        "--fingerprint", metavar="HEX", help="that are equal but for literals, by their fingerprint"
    )
    parser.add_argument(
        "--refused", action="store_true", help="that Causeway ended before a cluster ran them"
    )
    parser.add_argument(
        "--slower-than", type=_seconds, metavar="TIME", help="that took longer, such as 20s or 5m"
    )
    parser.add_argument(
        "--since",
        type=_since,
        metavar="TIME",
        help="that arrived since 2026-01-31, 2026-01-31T06:00 (UTC), or in the last 30m or 24h",
    )
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="at most so many (%(default)s)"
    )
    parser.add_argument("--before", metavar="NEXT", help="the `next` of the page before")
    parser.add_argument("--json", action="store_true", help="print the answer of the REST API")


def run(args: argparse.Namespace) -> int:
    url = load_settings(args).operating.history_store
    if not url:
        raise NoHistory("the settings name no history.store.")
    if not url.startswith("postgres") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NoHistory(f"there is no history in {url} yet.")
    from proxy.operations.history.history_store import HistoryStore
    from proxy.operations.history.search import Search

    page = HistoryStore(url).page(Search.read(_parameters(args)))
    if args.json:
        print(json_text(page, indent=2))
    else:
        print("\n".join(_lines(page)))
    return 0


def _parameters(args: argparse.Namespace) -> dict[str, str]:
    names = "user", "table", "cluster", "fingerprint", "slower_than", "since", "limit", "before"
    given = {name: getattr(args, name) for name in names}
    parameters = {name: str(value) for name, value in given.items() if value is not None}
    return parameters | ({"refused": "true"} if args.refused else {})


def _lines(page: dict[str, Any]) -> Sequence[str]:
    rows = [("TIME", "STATEMENT", "USER", "STATE", "SECONDS", "CLUSTER", "RULE", "CODE", "TEXT")]
    for each in page["statements"]:
        rows.append(
            (
                each["time"],
                each["statement"][:12],
                each["user"],
                each["state"],
                f"{each['seconds'] or 0:.3f}",
                each["cluster"] or "-",
                each["rule"] or "-",
                each["code"] or "-",
                short(each["text"]),
            )
        )
    more = [] if page["next"] is None else [f"older ones: --before {page['next']}"]
    return [*columns(rows), *more]


def _seconds(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _since(text: str) -> str:
    return str(time.time() - seconds(text)) if _AGO.fullmatch(text) else text
