"""A new replica in an object store, killed at every effect, which the next run continues."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.copy import sent_files
from pipeline.copy.files import CopyOptions, FileCopy, FileResult
from pipeline.hudi.replicas.object_files import SENT
from pipeline.hudi.replicas.replica_plan import ORIGIN, PROPERTIES_PATH, plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.table.table import open_table
from tests.pipeline.copy.fakes import Killed
from tests.pipeline.hudi.feed_site import BASE, BUCKET, Site

REPLICA = f"{BUCKET}/replica"
_MIDST = 15  # the effects of a run until it has sent some files
_FILES = 7  # four of rows, two marks of partitions, one of the timeline


def replicate(site: Site, earlier: Sequence[str] = ()) -> int:
    """The number of files sent, as `causeway incremental replicate` does it."""
    planned = plan_replication(open_table(BASE, site.storage), REPLICA, site.storage)
    return run_replication(planned, site.files, CopyOptions(), earlier=earlier).files


def written(folder: Path) -> Site:
    site = Site(folder, shared=True, bucket=BUCKET)
    site.table.commit("100", [(f"ds={day}", f"f{n}") for day in (1, 2) for n in range(2)])
    rewrite(site, b"old")
    return site


def rewrite(site: Site, word: bytes) -> None:
    """Other content under the names and lengths of all data files."""
    for path in site.table.base.rglob("*.parquet"):
        path.write_bytes(word * 10)
    site.load()


def killed(site: Site, after: int) -> bool:
    """Whether a run was killed; without a kill it has less than `after` effects."""
    site.effects.kill_at = site.effects.count + after
    try:
        replicate(site)
    except Killed:
        return True
    finally:
        site.effects.kill_at = None
    return False


def interrupted(site: Site) -> list[str]:
    """A directory of a run that was killed in the midst."""
    assert killed(site, _MIDST)
    place = f"{BUCKET}/earlier"
    content, made = site.files.content, site.files.made
    site.files.content = {path.replace(REPLICA, place): body for path, body in content.items()}
    site.files.made = {path.replace(REPLICA, place) for path in made}
    return [place]


def compared_by(site: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are compared from now on."""
    seen: list[str] = []
    compare = site.files.compare

    def counting(copies: Sequence[FileCopy], options: CopyOptions) -> list[FileResult]:
        seen.extend(each.entry.path for each in copies)
        return compare(copies, options)

    monkeypatch.setattr(site.files, "compare", counting)
    return seen


def test_killed_at_any_effect_nothing_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most the files of one batch are read and compared; here a batch is a file."""
    monkeypatch.setattr(sent_files, "_MOST_FILES", 1)
    for kill in range(1, 100):
        site = written(tmp_path / str(kill))
        if not killed(site, kill):
            break
        compared = compared_by(site, monkeypatch)
        replicate(site)
        assert site.seen(REPLICA) == ("100",)
        assert len(site.files.sent) == len(set(site.files.sent)), f"killed at {kill}"
        assert len(compared) <= 1
    assert kill > 20


def test_files_of_another_table_with_their_names_and_lengths_are_replaced(tmp_path: Path) -> None:
    """The source was made again after the first kill, and once more after the second one."""
    for kill in range(1, 60, 3):
        site = written(tmp_path / str(kill))
        assert killed(site, _MIDST)
        rewrite(site, b"new")
        killed(site, kill)
        if site.files.exists(f"{REPLICA}/{PROPERTIES_PATH}"):
            break
        rewrite(site, b"two")
        replicate(site)
        assert site.seen(REPLICA) == ("100",)
    assert kill > 10
    assert site.seen(REPLICA) == ("100",)


def test_an_interrupted_run_is_continued_in_another_directory(tmp_path: Path) -> None:
    site = written(tmp_path)
    earlier = interrupted(site)
    sent = len(site.files.sent)
    assert 0 < sent < _FILES
    assert replicate(site, earlier) == _FILES - sent
    assert site.seen(REPLICA) == ("100",)


def test_an_interrupted_run_of_another_table_is_left_alone(tmp_path: Path) -> None:
    site = written(tmp_path)
    earlier = interrupted(site)
    site.files.write(f"{earlier[0]}/{ORIGIN}", b"file:///c1/other")
    assert replicate(site, earlier) == _FILES


def test_where_the_store_cannot_copy_the_files_are_sent(tmp_path: Path) -> None:
    site = written(tmp_path)
    earlier = interrupted(site)
    site.files.cannot_move = True
    assert replicate(site, earlier) == _FILES
    assert site.seen(REPLICA) == ("100",)


def test_the_record_goes_with_the_next_commits(tmp_path: Path) -> None:
    site = written(tmp_path)
    replicate(site)
    assert site.files.exists(f"{REPLICA}/{SENT}")
    site.table.commit("200", [("ds=1", "f9")])
    site.load()
    assert replicate(site) == 2, "the partition has its mark"
    assert not site.files.exists(f"{REPLICA}/{SENT}")
    assert site.seen(REPLICA) == ("100", "200")
