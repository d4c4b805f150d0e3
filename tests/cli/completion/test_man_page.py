"""The man page has every command, and roff prints it without a warning."""

import re
import shutil
import subprocess

import pytest

from cli.completion.command_tree import Command, Option, Value
from cli.completion.man_page import man_page
from cli.main import main


def printed(page: str) -> str:
    """The page as a terminal has it, without bold and underlines."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    words = ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n"]
    done = subprocess.run(words, input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return re.sub(".\b", "", done.stdout).replace("‐", "-")


def test_every_command_has_a_section_with_its_options(program: Command) -> None:
    text = " ".join(printed(man_page(program, "One endpoint.")).split())
    assert "causeway - One endpoint SYNOPSIS" in text
    for command in program.all():
        if not command.commands:
            usage = " ".join((command.name, *(each.usage for each in command.operands)))
            assert usage in text
            assert all(each.usage in text for each in command.options if each.metavar)


def test_text_that_roff_would_read_is_printed() -> None:
    option = Option(("--a-b",), Value.TEXT, "X", (), ".TH \\fBx\\fR 'y", False)
    command = Command(("run",), "'quoted", (option,), (), ())
    text = printed(man_page(Command((), "", (), (), (command,)), ""))
    assert ".TH \\fBx\\fR 'y" in text
    assert "'quoted." in text
    assert "--a-b X" in text


@pytest.mark.parametrize("what", ["bash", "zsh", "fish", "man"])
def test_the_command_prints_each(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", what]) == 0
    out = capsys.readouterr().out
    assert "admin" in out
    assert "\\x" not in out, "nothing is escaped on its way to standard output"
