"""Children end with their parent, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.stack.plan import Service
from cli.stack.process import Children
from cli.stack.watchdog import groups_left

SLEEPER = (sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)")
PARENT = """
import sys, time
from pathlib import Path
from cli.stack.plan import Service
from cli.stack.process import Children
folder = Path(sys.argv[1])
children = Children()
children.start(Service("sleeper", {sleeper!r}, {{}}, folder, folder / "sleeper.log", ()))
print(children.pid("sleeper"), flush=True)
time.sleep(600)
"""


def _service(folder: Path, *argv: str) -> Service:
    return Service("sleeper", argv or SLEEPER, {}, folder / "run", folder / "sleeper.log", ())


def _gone(pid: int, limit: float = 60.0) -> bool:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_the_watchdog_knows_which_groups_are_left() -> None:
    assert groups_left(["+1\n", "+2\n", "-1\n", "+3\n"]) == {2, 3}
    assert groups_left([]) == set()


def test_leaving_ends_the_children(tmp_path: Path) -> None:
    with Children() as children:
        children.start(_service(tmp_path))
        pid = children.pid("sleeper")
        assert children.exit_status("sleeper") is None
    assert _gone(pid)


def test_one_that_ignores_term_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.stack.process._GRACE", 0.2)
    stubborn = "import signal, time; signal.signal(15, 1); print('x', flush=True); time.sleep(600)"
    with Children() as children:
        children.start(_service(tmp_path, sys.executable, "-c", stubborn))
        pid = children.pid("sleeper")
        while not (tmp_path / "sleeper.log").read_text():
            time.sleep(0.02)
    assert _gone(pid)


def test_the_last_log_is_kept(tmp_path: Path) -> None:
    for word in ("one", "two"):
        with Children() as children:
            children.start(_service(tmp_path, sys.executable, "-c", f"print({word!r})"))
            while children.exit_status("sleeper") is None:
                time.sleep(0.02)
    assert (tmp_path / "sleeper.log").read_text() == "two\n"
    assert (tmp_path / "sleeper.log.1").read_text() == "one\n"


@pytest.mark.slow
def test_a_killed_parent_leaves_no_orphan(tmp_path: Path) -> None:
    code = PARENT.format(sleeper=SLEEPER)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    assert _gone(child)
