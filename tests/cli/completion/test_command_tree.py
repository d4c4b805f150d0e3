"""What the completion and the man page know of argparse's parsers."""

import argparse
from pathlib import Path

from cli.completion.command_tree import Command, Operand, Option, Value, command_tree


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="causeway", add_help=False)
    commands = top.add_subparsers()
    run = commands.add_parser("run", help="run it", add_help=False)
    run.add_argument("kind", choices=("a", "b"), metavar="KIND")
    run.add_argument("files", nargs="*", type=Path, metavar="FILE", help="what it reads")
    run.add_argument("-c", "--conf", type=Path, metavar="FILE", required=True, help="settings")
    run.add_argument("--dir", type=Path, help="folder (%(default)s)", default="x")
    run.add_argument("--mode", choices=("fast", "slow"), help="how")
    run.add_argument("--user", default="root", help="who (%(default)s)")
    run.add_argument("--all", action="store_true", help="everything")
    run.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    inner = commands.add_parser("inner", help="more", add_help=False).add_subparsers()
    inner.add_parser("leaf", help="the last", add_help=False)
    return top


def test_options_and_operands_of_a_command() -> None:
    run = command_tree(parser()).commands[0]
    assert (run.words, run.name, run.summary) == (("run",), "causeway run", "run it")
    assert run.options == (
        Option(("-c", "--conf"), Value.FILE, "FILE", (), "settings", True),
        Option(("--dir",), Value.FOLDER, "DIR", (), "folder (x)", False),
        Option(("--mode",), Value.CHOICE, "fast|slow", ("fast", "slow"), "how", False),
        Option(("--user",), Value.TEXT, "USER", (), "who (the system's user)", False),
        Option(("--all",), Value.NONE, "", (), "everything", False),
    )
    assert run.operands == (
        Operand("KIND", Value.CHOICE, ("a", "b"), ""),
        Operand("[FILE ..]", Value.FILE, (), "what it reads"),
    )
    assert run.options[0].usage == "-c, --conf FILE"


def test_commands_below_commands() -> None:
    program = command_tree(parser())
    assert [each.name for each in program.all()] == [
        "causeway",
        "causeway run",
        "causeway inner",
        "causeway inner leaf",
    ]
    leaf = program.commands[1].commands[0]
    assert leaf == Command(("inner", "leaf"), "the last", (), (), ())
