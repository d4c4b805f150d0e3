"""Copies of Delta tables: with all that the log names, or none."""

import io
from collections.abc import Sequence

import pyarrow
import pyarrow.parquet
import pytest

from tests.pipeline.copy.world import T, World


def delta() -> World:
    """A table of Delta with two commits and a file that no commit names."""
    world = World(partitioned=False)
    table = world.metastore.tables[T]
    table.parameters = {**table.parameters, "spark.sql.sources.provider": "delta"}
    protocol = '{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}\n'
    world.put(
        "file:///c1/t",
        {"a": "one", "p=x%20y/b": "more", f"_delta_log/{0:020}.json": protocol + named("a", 3)},
    )
    world.put("file:///c1/t", {f"_delta_log/{1:020}.json": named("p=x%2520y/b", 4), "c": "none"})
    return world


def named(path: str, size: int) -> str:
    return f'{{"add": {{"path": "{path}", "size": {size}}}}}\n'


def test_a_table_of_delta_is_copied_with_its_log() -> None:
    world = delta()
    world.copy()
    assert list(world.fresh()) == [""]
    world.check()


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        (f"_delta_log/{2:020}.json", named("d", 1), "lacks d, which its log names"),
        (f"_delta_log/{2:020}.json", named("c", 9), "has 4 bytes of c, and its log says 9"),
        (f"_delta_log/{3:020}.json", named("c", 4), "lacks the commit 2 in its log"),
        (f"_delta_log/{2:020}.json", named("s3a://b/d", 1), "by an absolute path"),
    ],
)
def test_a_table_of_delta_that_its_files_are_not_is_refused(
    path: str, body: str, reason: str
) -> None:
    world = delta()
    world.put("file:///c1/t", {path: body})
    assert reason in str(world.copy().failed[""])
    assert world.fresh() == {}


def test_a_table_of_delta_needs_the_files_that_sidecars_of_its_checkpoint_name() -> None:
    world = delta()
    checkpoint = f"_delta_log/{1:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    world.put("file:///c1/t", {checkpoint: '{"sidecar": {"path": "s.parquet"}}\n'})
    sidecar = io.BytesIO()
    rows = [{"add": {"path": "d", "size": 1}}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), sidecar)
    world.files.write("file:///c1/t/_delta_log/_sidecars/s.parquet", sidecar.getvalue())
    assert "lacks d, which its log names" in str(world.copy().failed[""])
    world.put("file:///c1/t", {"d": "1"})
    assert world.copy().published == [""]
    world.check()


def test_a_table_of_delta_that_a_writer_changes_while_it_is_listed_is_staged_again() -> None:
    """The listing has the commit of a writer past the proxy, and not yet its file."""
    world = delta()
    world.put("file:///c1/t", {f"_delta_log/{2:020}.json": named("d", 1)})
    read = world.files.read_markers

    def appear(locations: Sequence[str]) -> list[str | None]:
        if any("_delta_log" in each for each in locations):
            world.put("file:///c1/t", {"d": "1"})
            world.files.read_markers = read  # type: ignore[method-assign]
        return read(locations)

    world.files.read_markers = appear  # type: ignore[method-assign]
    assert world.copy().published == [""]
    world.check()


def test_a_killed_copy_of_a_table_of_delta_leaves_the_old_one() -> None:
    effect = 1
    while True:
        world = delta()
        world.copy()
        world.open_write("w")
        world.put("file:///c1/t", {f"_delta_log/{2:020}.json": named("c", 4)})
        world.close_write("w")
        old = world.objects.table(T).placement.copies[0].location
        before = world.files.read(old)
        killed = world.copy_killed_at(effect, again=True)
        assert world.files.read(old) == before
        assert set(world.fresh().values()) <= {*world.directories()} - {old}
        world.check()
        world.copy()
        assert list(world.fresh()) == [""]
        world.check()
        if not killed:
            break
        effect += 1
    assert effect > 10
