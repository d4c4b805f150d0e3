"""Commit metadata, JSON and Avro (HU-4)."""

import json

import pytest

from pipeline.hudi.errors import DamagedTimeline
from pipeline.hudi.table.metadata import WriteStat, is_clustering, parse_commit

STAT = {"fileId": "f", "path": "p/f_1_100.parquet", "numWrites": 3, "numDeletes": None}


def commit(**fields):
    return parse_commit(json.dumps(fields).encode(), "100.commit")


def test_files_partitions_and_replaced_groups():
    found = commit(
        partitionToWriteStats={"p": [STAT], "q": []},
        partitionToReplaceFileIds={"p": ["old"]},
        operationType="insert_overwrite",
        extraMetadata={"schema": "{}", "nothing": None},
    )
    assert found.partitions == ("p", "q")
    assert found.writes == (WriteStat(("p", "f"), "p/f_1_100.parquet", 3, 0),)
    assert found.replaced == {("p", "old")}
    assert found.extra == {"schema": "{}"}
    assert found.removes_rows
    assert not found.is_service


def test_services_move_rows_and_remove_none():
    clustered = commit(operationType="CLUSTER", partitionToReplaceFileIds={"p": ["old"]})
    compacted = commit(compacted=True, partitionToWriteStats={"p": [STAT | {"numDeletes": 5}]})
    for service in (clustered, compacted):
        assert service.is_service
        assert not service.removes_rows


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"Obj\x01", b'{"partitionToWriteStats": {"p": [{}]}}']
)
def test_anything_else_is_damage(content):
    with pytest.raises(DamagedTimeline, match=r"100\.commit"):
        parse_commit(content, "100.commit")


def test_requests_of_clusterings():
    assert is_clustering(b'{"operationType": "CLUSTER"}', "100.replacecommit.requested")
    assert not is_clustering(
        b'{"operationType": "INSERT_OVERWRITE"}', "100.replacecommit.requested"
    )
    assert not is_clustering(b"", "100.replacecommit.requested")
    with pytest.raises(DamagedTimeline, match=r"100\.replacecommit\.requested"):
        is_clustering(b"{", "100.replacecommit.requested")
