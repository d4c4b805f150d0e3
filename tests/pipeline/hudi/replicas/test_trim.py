"""Replicas clean and archive what their sources do, and lose or gain no rows by it."""

import shutil
from pathlib import Path

import pytest

from pipeline.copy.files import CopyOptions
from pipeline.hudi.errors import OutOfStep, StorageFault
from pipeline.hudi.plan import snapshot
from pipeline.hudi.replicas.replica_plan import HudiReplicationPlan, plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.table.storage import CountingStorage, LocalStorage
from pipeline.hudi.table.table import open_for_changes, open_table
from tests.pipeline.hudi.conftest import FakeTable
from tests.pipeline.hudi.local_files import LocalFiles

OWN = {".hoodie/causeway.replica-of"}


class Replicated:
    """A table of one file group `f` in partition `p`, and its replica."""

    def __init__(self, table: FakeTable, target: Path) -> None:
        self.table, self.target = table, target

    def plan(self) -> HudiReplicationPlan:
        source = open_for_changes(self.table.path, LocalStorage())
        return plan_replication(source, str(self.target), LocalStorage())

    def run(self, files: LocalFiles | None = None) -> None:
        run_replication(self.plan(), files or LocalFiles(), CopyOptions())

    def check(self) -> None:
        """Readers of the replica see what those of the source see. The next run deletes what only
        readers from before this one needed, and nothing is left to do."""
        assert seen(self.target) == seen(self.table.base)
        self.run()
        assert files_of(self.target) - OWN == files_of(self.table.base)
        assert seen(self.target) == seen(self.table.base)
        assert self.plan().empty


def files_of(base: Path) -> set[str]:
    return {str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()}


def seen(base: Path) -> set[str]:
    """The files that a reader of the table reads."""
    table = open_for_changes(str(base), LocalStorage())
    return {file.path[len(str(base)) + 1 :] for file in snapshot(table).files}


@pytest.fixture(params=[6, 9])
def pair(request: pytest.FixtureRequest, fake_table, tmp_path: Path) -> Replicated:
    return Replicated(fake_table(version=request.param), tmp_path / "replica")


def base_file(instant: str, partition: str = "p", group: str = "f") -> str:
    return f"{partition}/{group}_1-0-1_{instant}.parquet"


def grown(pair: Replicated) -> None:
    """Replicated until 200; since then a commit, two cleans and an archiving."""
    pair.table.commit("100", [("p", "f")])
    pair.table.commit("200", [("p", "f")])
    pair.run()
    pair.table.commit("300", [("p", "f")])
    pair.table.clean("310", [base_file("100")])
    pair.table.commit("400", [("p", "f")])
    pair.table.clean("410", [base_file("200")], failed=True)
    pair.table.archive("100", "200")


def test_a_replica_cleans_and_archives_what_its_source_has(pair: Replicated) -> None:
    grown(pair)
    pair.run()
    pair.check()
    pair.table.commit("500", [("p", "f")])
    pair.table.archive("300", "310")
    pair.run()
    pair.check()


def test_files_that_readers_need_are_deleted_one_run_later(pair: Replicated) -> None:
    grown(pair)
    before = seen(pair.target)
    pair.run()
    assert before == {base_file("200")}
    assert before <= files_of(pair.target)
    assert not before <= seen(pair.target)
    pair.run()
    assert not before & files_of(pair.target)


def test_a_run_that_is_killed_at_any_effect_is_finished_by_the_next(
    pair: Replicated, tmp_path: Path
) -> None:
    grown(pair)
    allowed = [{base_file(instant)} for instant in ("200", "300", "400")]
    before = tmp_path / "before"
    shutil.copytree(pair.target, before)

    def run_twice(files: LocalFiles) -> None:
        pair.run(files)
        pair.run(files)

    counting = KilledFiles(10_000)
    run_twice(counting)
    assert counting.effects > 12
    for kill in range(counting.effects):
        shutil.rmtree(pair.target)
        shutil.copytree(before, pair.target)
        with pytest.raises(StorageFault, match="killed"):
            run_twice(KilledFiles(kill))
        assert seen(pair.target) in allowed, kill
        pair.run()
        pair.check()


class KilledFiles(LocalFiles):
    """Fails before the effect number `limit`: a copy, a deletion or a marker."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit, self.effects = limit, 0

    def _happen(self) -> None:
        if self.effects == self.limit:
            raise StorageFault("killed")
        self.effects += 1

    def _one(self, order):
        self._happen()
        return super()._one(order)

    def delete(self, locations):
        for each in locations:
            self._happen()
            super().delete([each])

    def write_marker(self, location, text):
        self._happen()
        super().write_marker(location, text)


def test_a_late_commit_that_was_archived_between_two_runs_is_missed_by_no_replica(
    pair: Replicated,
) -> None:
    """150 was running when 100 and 200 were replicated, and left the timeline before the next run,
    while a commit that the replica has is still there."""
    pair.table.commit("100", [("p", "f")])
    pair.table.commit("200", [("p", "f")])
    pair.run()
    pair.table.commit("150", [("p", "g")], completion="250")
    pair.table.archive("100", "150")
    with pytest.raises(OutOfStep, match="150"):
        pair.run()


def test_a_late_commit_from_before_the_replica_is_not_missed_either(pair: Replicated) -> None:
    pair.table.commit("200", [("p", "f")])
    pair.run()
    pair.table.commit("100", [("p", "g")], completion="250")
    pair.table.commit("300", [("p", "f")])
    pair.table.archive("100", "200")
    with pytest.raises(OutOfStep, match="100"):
        pair.run()


def test_a_commit_that_the_source_archived_and_the_replica_has_is_no_reason_to_start_again(
    pair: Replicated,
) -> None:
    pair.table.commit("100", [("p", "f")])
    pair.run()
    pair.table.commit("200", [("p", "f")])
    pair.table.commit("300", [("p", "f")])
    pair.table.archive("100")
    pair.run()
    pair.check()


def test_a_clean_that_was_archived_before_the_replica_followed_it_is_made_up(
    pair: Replicated,
) -> None:
    pair.table.commit("100", [("p", "f"), ("q", "h")])
    pair.run()
    pair.table.commit("200", [("p", "f")])
    pair.table.clean("210", [base_file("100")])
    pair.table.archive("210")
    pair.run()
    pair.check()


def test_groups_that_an_archived_commit_replaced_do_not_come_back(pair: Replicated) -> None:
    """Their files would count as soon as the replacing commit leaves the timeline."""
    pair.table.commit("100", [("p", "f")])
    pair.table.commit("200", [("p", "g")], action="replacecommit", replaces={"p": ["f"]})
    pair.run()
    pair.table.commit("300", [("p", "g")])
    (pair.table.base / base_file("100")).unlink()  # no clean on the timeline records it
    pair.table.archive("100", "200")
    pair.run()
    pair.check()


def test_files_of_an_undone_commit_that_a_killed_run_copied_are_deleted(pair: Replicated) -> None:
    """Behind an archived past they would count as files of an old, complete commit."""
    pair.table.commit("100", [("p", "f")])
    pair.run()
    pair.table.commit("200", [("p", "f")])
    with pytest.raises(StorageFault, match="killed"):
        pair.run(LocalFiles(1))
    assert (pair.target / base_file("200")).exists()
    for path in (*pair.table.timeline.glob("200*"), pair.table.base / base_file("200")):
        path.unlink()
    pair.table.commit("300", [("p", "g")])
    pair.run()
    pair.check()


def test_a_partition_that_was_cleaned_away_is_gone(pair: Replicated) -> None:
    pair.table.commit("100", [("p", "f"), ("q", "h")])
    pair.run()
    pair.table.commit(
        "200", action="replacecommit", operation="DELETE_PARTITION", replaces={"q": ["h"]}
    )
    pair.table.clean("210", [base_file("100", "q", "h")])
    shutil.rmtree(pair.table.base / "q")
    pair.run()
    pair.check()
    assert not (pair.target / "q").exists()


def test_a_savepoint_that_is_made_later_comes_along(pair: Replicated) -> None:
    """Without it, commits that the source archived from behind it would be unknown."""
    pair.table.commit("100", [("p", "f")])
    pair.table.commit("200", [("p", "g")])
    pair.run()
    suffix = "_350" if pair.table.layout == 2 else ""
    (pair.table.timeline / f"100{suffix}.savepoint").write_bytes(b"x")
    pair.table.commit("300", [("p", "h")])
    pair.table.archive("200")
    pair.run()
    pair.check()
    assert base_file("200", group="g") in seen(pair.target)


def test_the_cost_of_a_run_does_not_depend_on_what_was_archived(pair: Replicated) -> None:
    costs = []
    for start in (100, 200):
        for instant in range(start, start + 40):
            pair.table.commit(str(instant), [("p", "f")])
        pair.run()
        pair.table.archive(*(str(instant) for instant in range(start, start + 35)))
        pair.run()
        pair.table.commit(str(start + 50), [("p", "f")])
        storage = CountingStorage()
        source = open_table(pair.table.path, storage)
        plan = plan_replication(source, str(pair.target), storage)
        assert len(plan.completed) == 1
        costs.append((storage.lists, storage.reads))
    assert costs[0] == costs[1]
