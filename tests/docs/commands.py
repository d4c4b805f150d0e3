"""The command line as argparse has it: every command with its arguments."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from cli.main import SUBCOMMANDS, build_parser

# Defaults that depend on the machine, as the page has them.
_DEFAULTS = {
    "--user": "the system's user",
    "--store": ".causeway/lifecycle.db",
    "--spark-submit": "pyspark's",
}
# Options that many commands have; the head of the page describes them.
COMMON = ("--conf FILE", "--endpoints FILE", "--store URL", "--user USER", "--json")
# The same name with another meaning.
_OTHERS = {"causeway lifecycle serve": ("--conf FILE",), "causeway check": ("--store URL",)}


@dataclass(frozen=True)
class Command:
    """`arguments` are positional; `options` are pairs of names and help texts."""

    name: str
    summary: str
    arguments: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def section(self) -> str:
        own = [each for each in self.options if each[0] not in self._common()]
        common = [names for names, _ in self.options if names in self._common()]
        usage = " ".join((self.name, *self.arguments))
        lines = [f"### {self.name}\n", f"`{usage}`: {self.summary}.", ""]
        if common:
            lines[-1] = "Common options: " + ", ".join(f"`{each}`" for each in common) + "."
            lines.append("")
        if own:
            lines += ["| option | |", "|---|---|"]
            lines += [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in own]
            lines.append("")
        return "\n".join(lines)

    def _common(self) -> set[str]:
        return set(COMMON) - set(_OTHERS.get(self.name, ()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def commands() -> list[Command]:
    """Every command of the command line, in the order of `causeway --help`."""
    return list(_commands(build_parser(SUBCOMMANDS), ""))


def _commands(parser: argparse.ArgumentParser, summary: str) -> Iterator[Command]:
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for action in nested:
        summaries = {each.dest: each.help or "" for each in action._choices_actions}
        for name, child in action.choices.items():
            yield from _commands(child, summaries[name])
    if not nested:
        actions = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
        positional = tuple(_value(each) for each in actions if not each.option_strings)
        options = [_option(each) for each in actions if each.option_strings and each.dest != "help"]
        yield Command(parser.prog, summary, positional, tuple(options))


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    value = str(action.metavar or (action.dest.upper() if action.option_strings else action.dest))
    value = f"{value} .." if action.nargs == "+" else value
    if action.nargs == "?" and not action.option_strings:
        return f"[{value}]"
    return f"[{value} ..]" if action.nargs == "*" else value


def _option(action: argparse.Action) -> tuple[str, str]:
    names = f"{', '.join(action.option_strings)} {_value(action)}".strip()
    default = _DEFAULTS.get(action.option_strings[-1], action.default)
    text = (action.help or "").replace("%(default)s", str(default))
    exclusive = names in ("--conf FILE", "--endpoints FILE")
    return names, f"{text} (required)" if action.required and not exclusive else text
