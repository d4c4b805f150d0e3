"""Metadata of Iceberg for another folder: paths and lengths change, all else stays."""

import gzip
import json
from typing import Any

import pyarrow.parquet
import pytest

from pipeline.errors import FilesNotEnough
from pipeline.iceberg.avro_file import read_avro
from pipeline.iceberg.manifests import files_of, manifests_of, moved_list, moved_manifest
from pipeline.iceberg.position_deletes import moved_deletes
from pipeline.iceberg.table_metadata import read_metadata
from tests.pipeline.iceberg.iceberg_files import (
    PATH_ID,
    document,
    entry,
    manifest,
    manifest_list,
    position_deletes,
    records,
)

HERE, THERE = "hdfs://c1/w/t", "hdfs://c2/copies/t/run/table"
A, B, D = f"{HERE}/data/a", f"{HERE}/data/b", f"{HERE}/data/d"


@pytest.mark.parametrize("codec", ["deflate", "null"])
def test_a_manifest_names_the_files_of_the_copy(codec: str) -> None:
    before = manifest(
        entry(A, 10),
        entry(B, 20, status=2),
        entry("hdfs://c1/elsewhere/x", 5, status=2),
        entry(D, 30, content=1, of=A),
        entry(f"{HERE}/data/e", 40, content=2),
        codec=codec,
    )
    read = read_avro(before)
    found = files_of(read, HERE)
    assert (found.kept, found.deletes) == ({"data/a": 10, "data/e": 40}, {"data/d": 30})
    after = moved_manifest(read, HERE, THERE, {"data/d": 33})
    head = len(read.header)
    assert after[:head] == before[:head]
    expected = json.loads(json.dumps(records(before), default=list).replace(HERE, THERE))
    found_files = [each["data_file"] for each in records(after)]
    assert [each["file_path"] for each in found_files] == [
        each["data_file"]["file_path"] for each in expected
    ]
    assert [each["file_size_in_bytes"] for each in found_files] == [10, 20, 5, 33, 40]
    assert found_files[3]["referenced_data_file"] == f"{THERE}/data/a"
    bounds = [{"key": PATH_ID, "value": f"{THERE}/data/a".encode()}]
    assert found_files[3]["lower_bounds"] == found_files[3]["upper_bounds"] == bounds


def test_a_list_has_the_lengths_of_the_copys_manifests() -> None:
    before = read_avro(manifest_list({f"{HERE}/metadata/m1": 100, f"{HERE}/metadata/m2": 200}))
    assert manifests_of(before, HERE) == {"metadata/m1": 100, "metadata/m2": 200}
    after = records(moved_list(before, HERE, THERE, {"metadata/m1": 111, "metadata/m2": 222}))
    assert [(each["manifest_path"], each["manifest_length"]) for each in after] == [
        (f"{THERE}/metadata/m1", 111),
        (f"{THERE}/metadata/m2", 222),
    ]


def test_position_deletes_name_the_files_of_the_copy() -> None:
    after = pyarrow.BufferReader(moved_deletes(position_deletes((A, 3), (B, 0)), HERE, THERE))
    file = pyarrow.parquet.ParquetFile(after)
    assert file.read().to_pylist() == [
        {"file_path": f"{THERE}/data/a", "pos": 3},
        {"file_path": f"{THERE}/data/b", "pos": 0},
    ]
    assert file.metadata.metadata[b"delete-type"] == b"position"
    assert [file.schema_arrow.field(i).metadata for i in (0, 1)] == [
        {b"PARQUET:field_id": str(PATH_ID).encode()},
        {b"PARQUET:field_id": str(PATH_ID - 1).encode()},
    ]


def test_the_metadata_file_has_all_snapshots_and_the_copys_folder() -> None:
    lists = {1: f"{HERE}/metadata/snap-1", 2: f"{HERE}/metadata/snap-2"}
    statistics = [
        {"snapshot-id": 2, "statistics-path": f"{HERE}/metadata/s.stats", "file-size-in-bytes": 9}
    ]
    properties = {"write.data.path": f"{HERE}/data", "comment": f"see {HERE}/data"}
    data = document(HERE, lists, statistics=statistics, properties=properties, refs={"main": {}})
    found = read_metadata(f"{HERE}/metadata/5.json", data)
    assert (found.path, found.lists) == (
        "metadata/5.json",
        ("metadata/snap-1", "metadata/snap-2"),
    )
    assert found.statistics == {"metadata/s.stats": 9}
    new = json.loads(found.moved_to(THERE))
    assert new["location"] == THERE
    assert new["metadata-log"] == []
    assert [each["manifest-list"] for each in new["snapshots"]] == [
        f"{THERE}/metadata/snap-1",
        f"{THERE}/metadata/snap-2",
    ]
    assert new["statistics"][0]["statistics-path"] == f"{THERE}/metadata/s.stats"
    assert new["properties"] == {
        "write.data.path": f"{THERE}/data",
        "comment": f"see {HERE}/data",
    }
    assert new["refs"] == {"main": {}}
    packed = read_metadata(f"{HERE}/metadata/5.gz.metadata.json", gzip.compress(data))
    assert json.loads(gzip.decompress(packed.moved_to(THERE))) == new


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (document(HERE, {}, **{"format-version": 3}), "is of format version 3"),
        (document(HERE, {}, **{"next-row-id": 3}), "metadata that is not known: next-row-id"),
        (document(HERE, {1: "hdfs://c1/other/snap"}), "names a file outside of its folder"),
        (document(HERE, {1: f"{HERE}/../snap"}), "names a file outside of its folder"),
        (document(HERE, {}, properties={"encryption.key-id": "k"}), "is encrypted"),
        (document(HERE, {1: ""}).replace(b"manifest-list", b"manifests"), "without a list of"),
        (document("hdfs://c1/w/other", {}), "names a file outside of its folder"),
        (b"{", "cannot be read"),
        (b"{}", "cannot be read"),
        (b"\x1f\x8bno", "cannot be read"),
    ],
)
def test_metadata_that_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(FilesNotEnough, match=why):
        read_metadata(f"{HERE}/metadata/5.json", data)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (entry("hdfs://c1/elsewhere/x", 5), "names a file outside of its folder: hdfs://c1/else"),
        (entry(D, 5, content=1, file_format="ORC"), "has deletes in ORC"),
        (entry(D, 5, content=1, file_format="PUFFIN"), "has deletes in PUFFIN"),
        (entry(A, 5, key_metadata=b"k"), "is encrypted"),
    ],
)
def test_manifests_that_are_refused(one: Any, why: str) -> None:
    with pytest.raises(FilesNotEnough, match=why):
        files_of(read_avro(manifest(one)), HERE)


def test_bounds_that_are_cut_are_refused() -> None:
    """With bounds of the primary a reader would leave out the deletes."""
    one = entry(D, 5, content=1, of=A)
    one["data_file"]["lower_bounds"][0]["value"] = HERE[:9].encode()
    with pytest.raises(FilesNotEnough, match="outside of its folder"):
        moved_manifest(read_avro(manifest(one)), HERE, THERE, {"data/d": 6})


def test_deletes_of_rows_elsewhere_are_refused() -> None:
    with pytest.raises(FilesNotEnough, match="deletes of rows in a file outside"):
        moved_deletes(position_deletes((A, 3), ("hdfs://c1/w/t2/data/a", 0)), HERE, THERE)


@pytest.mark.parametrize("data", [b"", b"Obj\x01", manifest(entry(A, 1))[:-20]])
def test_damaged_avro_is_refused(data: bytes) -> None:
    with pytest.raises(FilesNotEnough, match="cannot be read"):
        read_avro(data)


def test_a_codec_that_is_not_known_is_refused() -> None:
    with pytest.raises(FilesNotEnough, match="compressed with bzip2"):
        read_avro(manifest(entry(A, 1), codec="bzip2"))


def test_a_local_folder_has_two_spellings() -> None:
    here, other = "file:///w/t", "file:/w/t"
    one = entry(f"{other}/data/d", 5, content=1, of=f"{other}/data/a")
    [after] = records(moved_manifest(read_avro(manifest(one)), here, THERE, {"data/d": 6}))
    assert after["data_file"]["referenced_data_file"] == f"{THERE}/data/a"
    deletes = moved_deletes(position_deletes((f"{other}/data/a", 1)), here, THERE)
    read = pyarrow.parquet.read_table(pyarrow.BufferReader(deletes)).to_pylist()
    assert read == [{"file_path": f"{THERE}/data/a", "pos": 1}]
    mixed = position_deletes((f"{other}/data/a", 1), (f"{here}/data/b", 1))
    with pytest.raises(FilesNotEnough, match="outside of its folder"):
        moved_deletes(mixed, here, THERE)  # their order would be another one
