"""Real shells complete command lines of Causeway. A shell that is not installed is skipped."""

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.completion.bash import bash_script
from cli.completion.command_tree import Command
from cli.completion.fish import fish_script
from cli.completion.zsh import zsh_script

_PATIENCE = 10.0  # seconds until a shell has to have answered
_BASH = """\
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_causeway
printf '%s\\n' "${COMPREPLY[@]}"
"""
# A command line to its last word, and what is offered for that.
CASES = [
    ("causeway adm", {"admin"}),
    ("causeway admin k", {"kill"}),
    ("causeway --help adm", {"admin"}),
    ("causeway admin kill --", {"--help", "--conf", "--endpoints", "--json"}),
    ("causeway admin kill --json --conf admin --js", {"--json"}),
    ("causeway serve --conf hive-site.", {"hive-site.xml", "hive-site.toml"}),
    ("causeway serve --conf with", {"with space.xml"}),
    ("causeway up --dir f", {"folder/"}),
    ("causeway assess --format s", {"sql", "spark-events"}),
    ("causeway history r", {"refusals"}),
    ("causeway entity submit hive-site.x", {"hive-site.xml"}),
    ("causeway history --user h", set()),
    ("causeway admin kill h", set()),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("hive-site.xml", "hive-site.toml", "with space.xml", "file"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    return tmp_path


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def script(folder: Path, program: Command, make: Callable[[Command], str]) -> Path:
    path = folder / "script"
    path.write_text(make(program))
    return path


def offered_by_bash(folder: Path, script: Path, words: list[str]) -> set[str]:
    done = subprocess.run(
        [shell("bash"), "--norc", "-c", _BASH, "bash", str(script), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.splitlines()) - {""}


@pytest.mark.parametrize(("line", "offered"), CASES)
def test_bash(folder: Path, program: Command, line: str, offered: set[str]) -> None:
    """Bash itself puts the slash after a folder."""
    found = offered_by_bash(folder, script(folder, program, bash_script), line.split(" "))
    assert found == {each.rstrip("/") for each in offered}


def test_bash_has_the_value_after_an_equals_sign_as_a_word(folder: Path, program: Command) -> None:
    made = script(folder, program, bash_script)
    words = ["causeway", "serve", "--conf", "=", "hive-site.x"]
    assert offered_by_bash(folder, made, words) == {"hive-site.xml"}
    words = ["causeway", "assess", "--format", "="]
    assert "json-lines" in offered_by_bash(folder, made, words)


def test_bash_offers_words_and_files_where_both_may_come(folder: Path, program: Command) -> None:
    made = script(folder, program, bash_script)
    words = ["causeway", "entity", "update", "f"]
    assert offered_by_bash(folder, made, words) == {"feed", "file", "folder"}


@pytest.mark.parametrize(("line", "offered"), CASES)
def test_fish(folder: Path, program: Command, line: str, offered: set[str]) -> None:
    """Where fish has no other proposal it offers what files there are."""
    made = script(folder, program, fish_script)
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", f"source {made}; complete -C '{line}'"],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    found = {each.partition("\t")[0].replace("\\ ", " ") for each in done.stdout.splitlines()}
    assert found == offered


@contextmanager
def zsh(folder: Path, made: Path) -> Iterator[int]:
    """An interactive zsh that has loaded the script; its terminal."""
    binary = shell("zsh")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", COLUMNS="200", LINES="200", HOME=str(folder))
        os.execv(binary, [binary, "-f", "-i"])
    try:
        setup = f"autoload -U compinit; compinit -u -D; source {made}; PS1='>'; echo rea''dy\n"
        os.write(terminal, setup.encode())
        assert "ready" in output(terminal, lambda text: ">" in text.partition("ready")[2])
        yield terminal
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def output(terminal: int, is_enough: Callable[[str], bool]) -> str:
    text, end = "", time.monotonic() + _PATIENCE
    while not is_enough(text) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 65536).decode(errors="replace")
    return text


@pytest.mark.parametrize(("line", "offered"), [case for case in CASES if case[1]])
def test_zsh(folder: Path, program: Command, line: str, offered: set[str]) -> None:
    """It lists several words, and puts a single one in the command line."""
    shell("zsh")
    with zsh(folder, script(folder, program, zsh_script)) as terminal:
        os.write(terminal, f"{line}\t\t".encode())

        def has_all(text: str) -> bool:
            return all(each in text.replace("\\ ", " ") for each in offered)

        assert has_all(output(terminal, has_all))
