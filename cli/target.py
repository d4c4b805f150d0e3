"""The options `--endpoints` and `--conf`, which name the system that a command works on."""

import argparse
from pathlib import Path

from conf.settings.load import load
from conf.settings.settings import Settings


def add_target_arguments(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Adds `--endpoints FILE` and `--conf FILE`, one of which is required, and returns their
    group."""
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--endpoints",
        type=Path,
        dest="target",
        metavar="FILE",
        help="endpoints.json that `causeway up` wrote",
    )
    target.add_argument(
        "--conf",
        type=Path,
        dest="target",
        metavar="FILE",
        help="hive-site.xml or a TOML file with settings (docs/reference/settings.md)",
    )
    return target


def load_settings(args: argparse.Namespace) -> Settings:
    """The settings of the system that the arguments name. Raises CausewayError."""
    path: Path = args.target
    return load(path)
