"""`causeway password`: the printed line accepts the password."""

import io

import pytest

from cli.main import main
from proxy.auth.passwords.password_file import read_passwords


def test_the_line_accepts_the_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("s3cret\n"))
    assert main(["password", "ann"]) == 0
    result = capsys.readouterr()
    assert "s3cret" not in result.out + result.err
    assert read_passwords(result.out)["ann"].matches("s3cret")


def test_an_empty_name_or_password_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["password", "ann"]) == 1
    assert "the password is empty" in capsys.readouterr().err


@pytest.mark.parametrize(("again", "status"), [("s3cret", 0), ("other", 1)])
def test_a_terminal_prompts_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], again: str, status: int
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    printed = iter(("s3cret", again))
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(printed))
    assert main(["password", "ann"]) == status
    assert "s3cret" not in capsys.readouterr().out
