"""The command line as the reference has it: every command with its arguments."""

from dataclasses import dataclass

from cli.completion.command_tree import Option, command_tree
from cli.main import SUBCOMMANDS, build_parser

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
    return [
        Command(
            each.name,
            each.summary,
            tuple(operand.usage for operand in each.operands),
            tuple(_option(option) for option in each.options if "--help" not in option.names),
        )
        for each in command_tree(build_parser(SUBCOMMANDS)).all()
        if not each.commands
    ]


def _option(option: Option) -> tuple[str, str]:
    exclusive = option.usage in ("--conf FILE", "--endpoints FILE")
    text = f"{option.help} (required)" if option.is_required and not exclusive else option.help
    return option.usage, text
