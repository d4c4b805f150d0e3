"""COPY by a child process: what the child gets, its end, and the result in its output."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from cli.errors import CopyFailed
from cli.server.copier import CopierByChild, result
from conf.names import TableRef
from proxy.statement.copies.copier import CopyOrder

T = TableRef("s", "t")

DONE = {"published": ["ds=1"], "fresh": 2, "bytes_sent": 10, "files_sent": 3, "failed": {}}


def test_a_copy_is_summarised() -> None:
    out = json.dumps({"event": "swept"}) + "\n" + json.dumps(DONE) + "\n"
    assert result(0, out, "") == ("1 copied, 2 fresh, 10 bytes in 3 files", 10)


def test_the_summary_names_partitions_that_the_table_lacks() -> None:
    summary = result(0, json.dumps(DONE | {"absent": ["ds=8", "ds=9"]}), "").text
    assert summary.endswith("in 3 files; not in the table: ds=8, ds=9")
    summary = result(0, json.dumps(DONE | {"absent": [f"ds={n}" for n in range(9)]}), "").text
    assert summary.endswith("not in the table: ds=0, ds=1, ds=2 and 6 more")


def test_a_partial_copy_is_an_error_with_its_reason() -> None:
    report = DONE | {"failed": {"ds=3": "[CW603] t ds=3: a write of it is open."}}
    with pytest.raises(CopyFailed, match="CW603"):
        result(1, json.dumps(report), "WARN something")


def test_a_refusal_has_the_message_of_the_child() -> None:
    problem = "WARN x\ncauseway: [CW601] C1 is the primary of t: it needs no copy.\n"
    with pytest.raises(CopyFailed, match=r"\[CW601\] C1 is the primary"):
        result(1, "", problem)


def test_a_child_that_died_is_an_error() -> None:
    with pytest.raises(CopyFailed, match="status -9"):
        result(-9, "", "")


def copier(folder: Path, script: str, grace: float = 60) -> CopierByChild:
    """A copier whose child runs the script, in that folder."""
    command = (sys.executable, "-c", f"import os; os.chdir({str(folder)!r})\n{script}")
    return CopierByChild(Path("causeway.toml"), command, grace)


REPORTS = f"""
import json, sys
open("arguments", "w").write(" ".join(sys.argv[1:]))
open("names", "wb").write(sys.stdin.buffer.read())
print({json.dumps(DONE)!r})
"""


def test_the_child_reads_the_names_of_any_number_of_partitions(tmp_path: Path) -> None:
    partitions = [(("ds", f"2026/{day}"), ("hr", "é\n")) for day in range(20_000)]
    summary = asyncio.run(copier(tmp_path, REPORTS)(CopyOrder(T, partitions, "east", "west")))
    assert summary.text.startswith("1 copied")
    names = (tmp_path / "names").read_text(encoding="utf-8").splitlines()
    assert names == [f"ds=2026%2F{day}/hr=é%0A" for day in range(20_000)]
    assert (tmp_path / "arguments").read_text() == (
        "copy s.t --from east --to west --json --conf causeway.toml --partition-names -"
    )


def test_a_whole_table_is_copied_without_names(tmp_path: Path) -> None:
    asyncio.run(copier(tmp_path, REPORTS)(CopyOrder(T, (), "east", "west")))
    assert "--partition-names" not in (tmp_path / "arguments").read_text()
    assert (tmp_path / "names").read_bytes() == b""


def test_progress_is_passed_on_while_the_child_runs(tmp_path: Path) -> None:
    lines = [{"event": "progress", "bytes": n, "of": 9} for n in (3, 9)]
    script = f"for each in {[json.dumps(each) for each in lines]!r}: print(each, flush=True)\n"
    told: list[tuple[int, int]] = []
    summary = asyncio.run(
        copier(tmp_path, script + REPORTS)(
            CopyOrder(T, (), "east", "west"), progress=lambda *each: told.append(each)
        )
    )
    assert told == [(3, 9), (9, 9)]
    assert summary.sent == 10


def test_a_copy_has_its_bounds(tmp_path: Path) -> None:
    order = CopyOrder(T, (), "east", "west", most=0, keep=60.0, bandwidth=1000)
    asyncio.run(copier(tmp_path, REPORTS)(order))
    wanted = "--most 0 --keep 60.0 --bandwidth 1000"
    assert (tmp_path / "arguments").read_text().endswith(wanted)


IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize(
    ("prepare", "grace"), [("", 60), (IGNORES, 0.1)], ids=["terminated", "killed"]
)
def test_a_cancelled_child_has_ended(tmp_path: Path, prepare: str, grace: float) -> None:
    """The child says its process id by a pipe, so that nothing has to be waited for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"import signal, time\n{prepare}\nopen('pipe', 'w').write(str(os.getpid()))\n"

    async def cancel() -> int:
        making = asyncio.ensure_future(
            copier(tmp_path, script + "time.sleep(600)", grace)(CopyOrder(T, (), "east", "west"))
        )
        child = int(await asyncio.to_thread(pipe.read_text))
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        return child

    child = asyncio.run(cancel())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
