"""Changed rows without Spark; real tables where the shared data is there."""

import os
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from pipeline.hudi.errors import StorageFault, UnsupportedTable
from pipeline.hudi.plan import plan, snapshot
from pipeline.hudi.read import changed_rows
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_for_changes

SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[4] / "shared")) / "hudi"


def opened(base):
    return open_for_changes(str(base), LocalStorage())


@pytest.fixture
def real(tmp_path):
    """`real(name)`: a real table, unzipped."""

    def unzip(name):
        archive = SHARED / f"{name}.zip"
        if not archive.exists():
            pytest.skip(f"no {archive}")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(tmp_path)
        return opened(next(p.parent for p in tmp_path.glob("*/.hoodie") if "MACOSX" not in str(p)))

    return unzip


def commits(rows):
    return Counter(rows["_hoodie_commit_time"].to_pylist())


def test_rows_of_the_range_alone(row_table):
    row_table.write(100, {"a": 1, "b": 1})
    row_table.write(200, {"b": 2})
    row_table.write(300, {"c": 3})
    table = opened(row_table.path)
    rows = changed_rows(plan(table, "101"))
    assert sorted(zip(*(rows[c].to_pylist() for c in ("key", "value")), strict=True)) == [
        ("b", 2),
        ("c", 3),
    ]
    # b's row @200 is still in the file of 200, the newest one of that range.
    assert commits(changed_rows(plan(table, "101", until="201"))) == {"200": 1}
    assert changed_rows(snapshot(table)).num_rows == 3


def test_a_full_scan_gives_the_same_rows(row_table):
    row_table.write(100, {"a": 1, "b": 1})
    row_table.write(200, {"b": 2})
    row_table.write(300, {"c": 3})
    (row_table.base / "p" / "f_1-0-1_200.parquet").unlink()
    planned = plan(opened(row_table.path), "101", until="201")
    assert planned.fallback
    assert commits(changed_rows(planned)) == {"200": 1}


def test_a_file_that_vanished_after_the_plan_is_an_error(row_table):
    row_table.write(100, {"a": 1})
    planned = plan(opened(row_table.path), "0")
    (row_table.base / "p" / "f_1-0-1_100.parquet").unlink()
    with pytest.raises(StorageFault, match="CW807"):
        changed_rows(planned)


def test_clustered_and_overwritten_history(real):
    table = real("sample_table__cow__v9_txns_nonpart_nometa")
    rows = changed_rows(plan(table, "earliest"))
    assert rows.num_rows == 14
    assert rows.schema.names[0] == "_hoodie_commit_time"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("quickstart_trips_table__mor__avro__v6_trips_8i3d", {"20250618054711154": 5}),
        (
            "sample_table__mor__parquet__v6_complexkeygen_hivestyle",
            {"20250118044623136": 2, "20250118044632401": 2},
        ),
    ],
)
def test_logs_are_merged(real, name, expected):
    table = real(name)
    planned = plan(table, "0")
    assert any(part.logs for part in planned.slices)
    assert commits(changed_rows(planned)) == expected


def test_deletes_in_logs_take_rows_away(real):
    table = real("quickstart_trips_table__mor__avro__v6_trips_8i3d")
    inserted, deleted = table.timeline.commits
    assert changed_rows(plan(table, "0", until=inserted.requested)).num_rows == 8
    assert plan(table, inserted.requested).removes_rows
    assert changed_rows(plan(table, inserted.requested)).num_rows == 0
    assert deleted.action == "deltacommit"


@pytest.mark.parametrize(
    "name",
    [
        "sample_table__cow__v6_simplekeygen_hivestyle_no_metafields",
        "sample_table__cow__v8_simplekeygen_hivestyle_no_metafields",
    ],
)
def test_rows_without_commit_times_are_refused(real, name):
    planned = plan(real(name), "0")
    assert planned.files
    with pytest.raises(UnsupportedTable, match="meta columns"):
        changed_rows(planned)


def test_empty_tables_have_no_changes(real):
    planned = plan(real("sample_table__cow__v8_empty"), "0")
    assert planned.empty


def test_partition_columns_that_are_not_in_the_files_are_refused(fake_table):
    table = fake_table(version=9, **{"hoodie.datasource.write.drop.partition.columns": "true"})
    table.commit("100", [("p", "a")])
    with pytest.raises(UnsupportedTable, match="partition columns"):
        changed_rows(plan(opened(table.path), "0"))
