"""`causeway metastore ACTION`: each action is a module."""

import argparse
from importlib import import_module

_ACTIONS = {
    "serve": "serve a view of the metastore for each cluster",
    "upgrade": "give every table and partition the default cluster as its primary",
    "verify": "check the cluster facts of every table and partition",
    "downgrade": "remove all cluster facts",
}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in _ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary)
        import_module(f"cli.metastore.{name}").configure(action)


def run(args: argparse.Namespace) -> int:
    return int(import_module(f"cli.metastore.{args.action}").run(args))
