"""Text from outside cannot act on a terminal."""

import io
import sys

import pytest

from cli import main
from cli.progress import ProgressBar
from cli.server import admin
from cli.terminal import EscapedStream, escaped_output
from conf.errors import BadSetting

EVIL = "ann\x1b[2J\r\u202e\u2028\x9b"
SEEN = "ann\\x1b[2J\\r\\u202e\\u2028\\x9b"


def test_output_of_commands_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with escaped_output():
        print(EVIL, "\ttab", sep="\n")
        print(EVIL, file=sys.stderr)
    printed = capsys.readouterr()
    assert printed.out == f"{SEEN}\n\ttab\n"
    assert printed.err == f"{SEEN}\n"
    assert not isinstance(sys.stdout, EscapedStream)


def test_errors_of_commands_are_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(args: object) -> int:
        raise BadSetting(f"there is no {EVIL}")

    monkeypatch.setattr(admin, "run", fail)
    assert main.main(["admin", "sessions", "--conf", "x.toml"]) == 1
    assert SEEN in capsys.readouterr().err


def test_a_cell_of_a_table_stays_in_its_row() -> None:
    rows = admin.columns([("USER", "STATE"), (f"{EVIL}\nroot", "x")])
    assert len(rows) == 2
    assert all(row.isprintable() for row in rows)


def test_a_bar_still_moves_the_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    with ProgressBar(EscapedStream(terminal)) as bar:  # type: ignore[arg-type]
        bar(1, 2)
    assert terminal.getvalue().startswith("\r[")
    assert terminal.getvalue().endswith("\r\x1b[K")
