"""Entry point: `causeway SUBCOMMAND ...`.

Each subcommand is a module with `configure(parser)` and `run(args) -> exit status`. Only the called
one is imported.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from cli.errors import NotInstalled
from cli.extras import extra_of
from cli.terminal import escaped_output
from conf.errors import CausewayError
from conf.logs.log_fields import inherit_log_fields

SUBCOMMANDS = {
    "up": ("server.up", "start the embedded stack: metastore, Thrift Servers, views and proxy"),
    "serve": ("server.serve", "run the proxy for existing clusters"),
    "console": ("console", "serve Causeway in a browser"),
    "history": ("server.history", "search ended statements, copies and instances"),
    "admin": ("server.admin", "show and change what a running proxy does"),
    "check": ("check.check", "find errors in a configuration, and test the services it names"),
    "settings": ("settings", "list the settings, or print their JSON schema"),
    "completion": (
        "completion.completion",
        "print a completion script for a shell, or the man page",
    ),
    "password": ("password", "make a line of a password file"),
    "assess": (
        "advice.assess",
        "replay past statements: which would run, which copies would help",
    ),
    "advise": ("advice.advise", "recommend copies to make and to drop, and apply them"),
    "route": ("route", "show where a statement would run, and why"),
    "table": ("table", "assign and show the clusters of tables and partitions"),
    "metastore": ("metastore.actions", "serve the views; upgrade, verify or downgrade a metastore"),
    "copy": ("lifecycle.copy", "make, refresh or verify secondary copies"),
    "entity": ("lifecycle.entity", "validate, submit and schedule clusters, feeds and processes"),
    "instance": ("lifecycle.instance", "show, rerun and kill instances of feeds and processes"),
    "lifecycle": ("lifecycle.lifecycle", "run scheduled feeds and processes"),
    "incremental": ("lifecycle.incremental", "plan and pull changes of Hudi tables"),
}
_SUMMARY = "One SQL endpoint over many data centers."


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with escaped_output():
            return _run(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # no error: in `causeway .. | head` the reader closes the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def build_parser(complete: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the command line. Only the subcommands in `complete` get their arguments."""
    parser = argparse.ArgumentParser(prog="causeway", description=_SUMMARY)
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    complete = set(complete)
    for name, (_, summary) in SUBCOMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=summary)
        if name in complete:
            command_module(name).configure(subparser)
    return parser


def installed() -> Iterator[str]:
    """The subcommands whose packages are installed."""
    for name in SUBCOMMANDS:
        with suppress(NotInstalled):
            command_module(name)
            yield name


def command_module(subcommand: str) -> Any:
    """The module of the subcommand. Raises NotInstalled."""
    module, _ = SUBCOMMANDS[subcommand]
    with _extras(subcommand):
        return import_module(f"cli.{module}")


@contextmanager
def _extras(subcommand: str) -> Iterator[None]:
    """Raises NotInstalled if a module of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = extra_of(error)
        if extra is None:
            raise
        raise NotInstalled(subcommand, error.name or "", extra) from error


def _run(arguments: Sequence[str]) -> int:
    called = next((each for each in arguments if not each.startswith("-")), None)
    try:
        args = build_parser([] if called is None else [called]).parse_args(arguments)
        inherit_log_fields()
        with _extras(args.subcommand):
            return int(command_module(args.subcommand).run(args))
    except CausewayError as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
