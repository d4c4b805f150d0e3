"""`causeway check`: finds errors in a configuration, and tests the services that it names."""

import argparse
import os
from pathlib import Path

from cli.check.checks import checks_of, passwords_in
from cli.check.contradictions import contradictions
from cli.check.report import (
    Level,
    Result,
    document,
    exit_status,
    of_problem,
    ok,
    table,
    without_secrets,
)
from cli.target import add_target_arguments
from conf.kinds import seconds
from conf.logs.printable import json_text
from conf.settings.load import Examined, examine

_TIMEOUT = 20.0  # seconds: the first session of a Thrift Server takes long


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--offline", action="store_true", help="check only the settings and files")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_TIMEOUT,
        metavar="SECONDS",
        help=f"how long each check may take; all run concurrently ({_TIMEOUT:g})",
    )
    parser.add_argument(
        "--store",
        default=os.environ.get("CAUSEWAY_STORE"),
        metavar="URL",
        help="check the lifecycle's store, too: SQLite file or postgresql://.. (CAUSEWAY_STORE)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    path: Path = args.target
    examined = examine(path)
    secrets = passwords_in(examined.settings, args.store)
    results = [without_secrets(each, secrets) for each in _results(args, path, examined)]
    print(json_text(document(results), indent=2) if args.json else "\n".join(table(results)))
    return exit_status(results)


def _results(args: argparse.Namespace, path: Path, examined: Examined) -> list[Result]:
    """The problems of the settings themselves, then the results of the checks."""
    from cli.check.runner import run_checks  # late: imports the clients of every service

    wrong = {each.name for each in examined.problems}
    found = [of_problem(each, Level.ERROR) for each in examined.problems]
    found += [of_problem(each, Level.WARNING) for each in examined.doubtful]
    found += contradictions(examined.settings, wrong)
    if not found:
        found.append(Result(f"settings in {path}", ok("no value is wrong")))
    checks = checks_of(examined.settings, path, wrong, args.store)
    wanted = [each for each in checks if each.is_local or not args.offline]
    return found + run_checks(wanted, args.timeout)


def _seconds(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
