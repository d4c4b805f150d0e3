"""`causeway metastore ACTION`: one module an action, `cli.metastore_<action>`."""

import argparse
from importlib import import_module
from importlib.util import find_spec

_ACTIONS = {
    "serve": "serve a view of the metastore for each cluster",
    "upgrade": "give every table and partition the default cluster as its primary",
    "verify": "check the cluster facts of every table and partition",
    "downgrade": "take all cluster facts away",
}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in _ACTIONS.items():
        if find_spec(f"cli.metastore_{name}"):
            action = actions.add_parser(name, help=summary, description=summary)
            import_module(f"cli.metastore_{name}").configure(action)


def run(args: argparse.Namespace) -> int:
    return int(import_module(f"cli.metastore_{args.action}").run(args))
