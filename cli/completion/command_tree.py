"""The tree of all commands with their options and operands, read from argparse's parsers."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

# Texts for defaults that depend on the machine.
_DEFAULTS = {
    "--user": "the system's user",
    "--store": ".causeway/lifecycle.db",
    "--spark-submit": "pyspark's",
}


class Value(Enum):
    """What a shell offers as the value of an option or operand."""

    NONE = "none"  # a flag
    TEXT = "text"
    FILE = "file"
    FOLDER = "folder"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class Option:
    """An option. `metavar` is empty for a flag. `help` includes the default."""

    names: tuple[str, ...]
    value: Value
    metavar: str
    choices: tuple[str, ...]
    help: str
    is_required: bool

    @property
    def usage(self) -> str:
        return f"{', '.join(self.names)} {self.metavar}".strip()


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand. `usage` is its text in a synopsis: `NAME`, `[NAME]`, `NAME ..`, `[NAME ..]`."""

    usage: str
    value: Value
    choices: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command. `words` follow `causeway` on the command line; the whole program has none. A
    command with subcommands in `commands` has no operands of its own."""

    words: tuple[str, ...]
    summary: str
    options: tuple[Option, ...]
    operands: tuple[Operand, ...]
    commands: tuple["Command", ...]

    @property
    def name(self) -> str:
        return " ".join(("causeway", *self.words))

    def all(self) -> Iterator["Command"]:
        """This command and all below it, in the order of `--help`."""
        yield self
        for each in self.commands:
            yield from each.all()


def command_tree(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = (), summary: str = ""
) -> Command:
    """The commands of a parser."""
    options, operands, commands = list[Option](), list[Operand](), list[Command]()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {each.dest: each.help or "" for each in action._choices_actions}
            for name, child in action.choices.items():
                commands.append(command_tree(child, (*words, name), summaries[name]))
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(_option(action))
        else:
            operands.append(_operand(action))
    return Command(words, summary, tuple(options), tuple(operands), tuple(commands))


def _option(action: argparse.Action) -> Option:
    names = tuple(action.option_strings)
    default = _DEFAULTS.get(names[-1], action.default)
    text = (action.help or "").replace("%(default)s", str(default))
    return Option(names, _value(action), _metavar(action), _choices(action), text, action.required)


def _operand(action: argparse.Action) -> Operand:
    name = _metavar(action)
    usage = {"?": f"[{name}]", "*": f"[{name} ..]", "+": f"{name} .."}.get(str(action.nargs), name)
    text = (action.help or "").replace("%(default)s", str(action.default))
    return Operand(usage, _value(action), _choices(action), text)


def _metavar(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or (action.dest.upper() if action.option_strings else action.dest))


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def _value(action: argparse.Action) -> Value:
    if action.nargs == 0:
        return Value.NONE
    if action.choices is not None:
        return Value.CHOICE
    if "DIR" in (action.metavar, action.dest.upper()):
        return Value.FOLDER
    is_file = action.type is Path or action.metavar == "FILE" or action.dest == "store"
    return Value.FILE if is_file else Value.TEXT
