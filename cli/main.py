"""Entry point: `causeway SUBCOMMAND ...`.

Each subcommand is a module of this package with `configure(parser)` and `run(args) -> exit
status`; only the one asked for is imported.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from cli.terminal import shown
from conf.errors import CausewayError
from conf.log_fields import inherit_log_fields

SUBCOMMANDS = {
    "up": "start the embedded stack: metastore, Thrift Servers, views and proxy",
    "serve": "run the proxy against existing clusters",
    "admin": "sessions, statements, clusters and cache of a running proxy; kill, drain, reload",
    "settings": "list the settings, or print their JSON schema",
    "password": "make a line of a password file",
    "route": "say where a statement would run, and why",
    "table": "assign and show the clusters of tables and partitions",
    "metastore": "serve the per-cluster views; upgrade, verify or downgrade a metastore",
    "copy": "make, refresh or verify secondary copies",
    "entity": "validate, submit and schedule clusters, feeds and processes",
    "instance": "show, rerun and kill instances of feeds and processes",
    "lifecycle": "run what is scheduled",
    "incremental": "plan and pull changes of Hudi tables",
}


_SUMMARY = "One SQL endpoint over many data centers."


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="causeway", description=_SUMMARY)
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
    asked = next((word for word in words if not word.startswith("-")), None)
    for name, summary in SUBCOMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=summary)
        if name == asked:
            import_module(f"cli.{name}").configure(subparser)
    args = parser.parse_args(words)
    try:
        with shown():
            return _run(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `causeway .. | head`: nobody reads on, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(args: argparse.Namespace) -> int:
    inherit_log_fields()
    try:
        return int(import_module(f"cli.{args.subcommand}").run(args))
    except CausewayError as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
