"""Pulls from tables whose columns change: no new value is lost, and a mirror only widens."""

import io
import json

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.hudi.errors import UnsupportedTable
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.pull import PullMode, pull
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table

META = ("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path")
AVRO = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string"}


class EvolvingTable:
    """A table whose commits write one file group each, with columns of their own."""

    def __init__(self, table):
        self.table, self.path = table, table.path

    def write(self, instant, group, kinds, *rows, record=None):
        """`kinds` are the columns of the file, `record` those of the commit's schema."""
        fields = [
            {"name": name, "type": ["null", AVRO[kind]]} for name, kind in (record or kinds).items()
        ]
        avro = json.dumps({"type": "record", "name": "r", "fields": fields})
        self.table.commit(str(instant), [("p", group)], schema=avro)
        file = self.table.base / "p" / f"{group}_1-0-1_{instant}.parquet"
        schema = pa.schema([*((name, pa.string()) for name in META), *kinds.items()])
        full = [
            dict(zip(META, (str(instant), str(row["id"]), "p"), strict=True)) | row for row in rows
        ]
        pq.write_table(pa.Table.from_pylist(full, schema=schema), file)

    def pull(self, target, mode=PullMode.MERGE):
        return pull(open_table(self.path, LocalStorage()), LocalFolder(target), mode)


@pytest.fixture
def evolving(fake_table):
    return EvolvingTable(fake_table(version=9))


def rows_of(target):
    rows = pq.read_table(target).to_pylist()
    return [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]


OLD = {"id": pa.int32(), "n": pa.int32()}
NEW = {"id": pa.int32(), "n": pa.int64(), "w": pa.string()}


def test_a_mirror_gets_added_columns_and_wider_types(evolving, tmp_path):
    target = tmp_path / "mirror"
    evolving.write(100, "a", OLD, {"id": 1, "n": 1})
    evolving.pull(target)
    evolving.write(200, "b", NEW, {"id": 2, "n": 2**40, "w": "new"})
    evolving.pull(target)
    assert rows_of(target) == [{"id": 1, "n": 1, "w": None}, {"id": 2, "n": 2**40, "w": "new"}]


def test_files_with_an_older_schema_do_not_narrow_a_pull(evolving, tmp_path):
    """The newest file of a range is not always the one with the newest schema."""
    target = tmp_path / "changes"
    evolving.write(100, "a", NEW, {"id": 1, "n": 2**40, "w": "new"})
    evolving.write(200, "b", OLD, {"id": 2, "n": 2}, record=NEW)
    evolving.pull(target, PullMode.APPEND)
    assert rows_of(target) == [{"id": 1, "n": 2**40, "w": "new"}, {"id": 2, "n": 2, "w": None}]


def test_a_mirror_keeps_a_column_that_the_source_dropped(evolving, tmp_path):
    target = tmp_path / "mirror"
    evolving.write(100, "a", NEW, {"id": 1, "n": 1, "w": "kept"})
    evolving.pull(target)
    evolving.write(200, "b", OLD, {"id": 2, "n": 2})
    evolving.pull(target)
    assert rows_of(target) == [{"id": 1, "n": 1, "w": "kept"}, {"id": 2, "n": 2, "w": None}]


def test_a_reload_keeps_the_columns_of_the_mirror(evolving, tmp_path):
    target = tmp_path / "mirror"
    evolving.write(100, "a", NEW, {"id": 1, "n": 1, "w": "x"})
    evolving.pull(target)
    evolving.write(200, "b", OLD, {"id": 2, "n": 2})
    evolving.table.undo("300", ["100"])
    assert evolving.pull(target).reloaded
    assert rows_of(target) == [{"id": 2, "n": 2, "w": None}]


def test_a_compaction_with_an_older_schema_does_not_count(evolving):
    evolving.write(100, "a", NEW, {"id": 1, "n": 1, "w": "x"})
    avro = json.dumps({"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]})
    evolving.table.commit("200", [("p", "a")], compacted=True, operation="COMPACT", schema=avro)
    table = open_table(evolving.path, LocalStorage())
    assert table.schema().names[5:] == ["id", "n", "w"]


def test_without_a_recorded_schema_that_of_the_table_counts(fake_table):
    avro = json.dumps({"type": "record", "name": "r", "fields": [{"name": "id", "type": "int"}]})
    table = fake_table(version=9, **{"hoodie.table.create.schema": avro})
    assert open_table(table.path, LocalStorage()).schema().names[5:] == ["id"]


def test_a_table_with_renamed_columns_is_refused(evolving, tmp_path):
    """Older files have the old name: their values would be null under the new one."""
    evolving.write(100, "a", OLD, {"id": 1, "n": 1})
    (commit,) = evolving.table.timeline.glob("100_*.commit")
    (metadata,) = fastavro.reader(io.BytesIO(commit.read_bytes()))
    metadata["extraMetadata"]["latest_schema"] = "{}"
    commit.write_text(json.dumps(metadata))
    with pytest.raises(UnsupportedTable, match="no history"):
        evolving.pull(tmp_path / "mirror")
    versions = [
        {"version_id": n, "fields": [{"id": 7, "name": name, "type": "int"}]}
        for n, name in enumerate(("m", "n"))
    ]
    folder = evolving.table.base / ".hoodie" / ".schema"
    folder.mkdir()
    (folder / "100_101.schemacommit").write_text(json.dumps({"schemas": versions}))
    (folder / "200.schemacommit.requested").touch()
    with pytest.raises(UnsupportedTable, match="m was renamed to n"):
        evolving.pull(tmp_path / "mirror")
