"""`causeway completion`: prints a completion script for a shell, or the man page."""

import argparse
from collections.abc import Callable

from cli.completion.bash import bash_script
from cli.completion.command_tree import Command, command_tree
from cli.completion.fish import fish_script
from cli.completion.man_page import man_page
from cli.completion.zsh import zsh_script

_SCRIPTS: dict[str, Callable[[Command], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=[*_SCRIPTS, "man"],
        metavar="bash|zsh|fish|man",
        help="the shell; man: the man page causeway(1)",
    )


def run(args: argparse.Namespace) -> int:
    from cli.main import build_parser, installed

    parser = build_parser(installed())
    program = command_tree(parser)
    if args.what == "man":
        print(man_page(program, parser.description or ""), end="")
    else:
        print(_SCRIPTS[args.what](program), end="")
    return 0
