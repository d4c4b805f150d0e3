"""The whole command line of Causeway."""

import pytest

from cli.completion.command_tree import Command, command_tree
from cli.main import SUBCOMMANDS, build_parser


@pytest.fixture(scope="session")
def program() -> Command:
    return command_tree(build_parser(SUBCOMMANDS))
