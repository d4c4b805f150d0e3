"""The lock of Hudi targets on file systems without locks."""

import time

import pytest

from conf.names import TableRef
from pipeline.copy.runs.staging import LEASE_SECONDS, OPEN, is_run, marker_path, new_run, open_path
from pipeline.errors import VerifyFailed
from pipeline.hudi.errors import PullRunning
from pipeline.hudi.pull_lease import leased
from tests.pipeline.copy.fakes import Effects, FakeFiles

TABLE = "hdfs://nn/target"
LOCKS = f"{TABLE}/.hoodie/causeway.pulls"


@pytest.fixture
def files():
    return FakeFiles(Effects())


def pull_while_another_runs(files):
    with leased(files, TABLE), leased(files, TABLE):
        pass


def test_one_pull_at_a_time(files):
    with pytest.raises(PullRunning, match="another pull into hdfs://nn/target"):
        pull_while_another_runs(files)
    with leased(files, TABLE) as check:
        check()
    assert not any(is_run(name) for name in files.children(LOCKS))
    assert files.children(f"{LOCKS}/{OPEN}") == ()


def pull_and_lose_the_lock(files):
    with leased(files, TABLE) as check:
        files.delete([f"{LOCKS}/{run}" for run in files.children(LOCKS) if is_run(run)])
        check()


def test_a_pull_that_lost_its_lock_does_not_commit(files):
    with pytest.raises(PullRunning, match="lost its lease"):
        pull_and_lose_the_lock(files)


def replicate_and_find_a_difference(files):
    with leased(files, TABLE):
        raise VerifyFailed("a file is missing.")


def test_a_difference_found_under_the_lease_keeps_its_own_code(files):
    with pytest.raises(VerifyFailed, match="a file is missing"):
        replicate_and_find_a_difference(files)


def test_an_interrupted_pull_leaves_nothing(files):
    with pytest.raises(KeyboardInterrupt), leased(files, TABLE):
        raise KeyboardInterrupt
    assert files.children(f"{LOCKS}/{OPEN}") == ()
    assert not any(is_run(name) for name in files.children(LOCKS))


def test_the_markers_of_killed_pulls_are_deleted(files):
    killed = new_run(TableRef("hudi", "pull"), 0, time.time() - 2 * LEASE_SECONDS)
    files.write_marker(marker_path(LOCKS, killed.run), killed.to_text())
    files.write_marker(f"{open_path(LOCKS, killed.run)}/run", "")
    with leased(files, TABLE) as check:
        check()
    assert files.children(LOCKS) in ((), (".causeway",))
    assert files.children(f"{LOCKS}/{OPEN}") == ()
