"""The files that a log names, and tables whose copies would name files elsewhere."""

import json
import uuid
from typing import Any

import pytest

from pipeline.delta.table_state import DeltaState, parse_commit
from pipeline.errors import FilesNotEnough

VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4}
VECTOR |= {"sizeInBytes": 40, "cardinality": 6}
BIN = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"  # the protocol's own example


def state(*commits: list[dict[str, Any]]) -> DeltaState:
    found = DeltaState()
    for commit in commits:
        found.apply(parse_commit("\n".join(map(json.dumps, commit))))
    return found


def add(path: str, size: int = 1, **more: object) -> dict[str, Any]:
    return {"add": {"path": path, "size": size, **more}}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path}}


def test_files_are_those_that_were_added_and_not_removed() -> None:
    found = state([add("a"), add("b%20b", 2)], [remove("a"), add("c")], [{"commitInfo": {}}])
    assert found.files == {"b b": 2, "c": 1}


def test_an_action_may_have_other_ends_of_lines_in_it() -> None:
    info = {"commitInfo": {"notebook": "first\u2028second\x85third"}}
    found = list(parse_commit(json.dumps(info, ensure_ascii=False) + "\n" + json.dumps(add("a"))))
    assert found == [info, add("a")]


def test_a_new_deletion_vector_of_a_file_keeps_the_file() -> None:
    found = state([add("a")], [add("a", deletionVector=VECTOR), remove("a")])
    assert found.files == {"a": 1}
    assert found.vectors == {"a": (BIN, 52)}
    assert found.difference({"a": 1, BIN: 52}) == ""
    assert BIN in found.difference({"a": 1, BIN: 51})
    assert BIN in found.difference({"a": 1})
    assert state([add("a", deletionVector=VECTOR)], [remove("a")]).vectors == {}


def test_a_vector_in_the_log_needs_no_file() -> None:
    inline = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1}
    assert state([add("a", deletionVector=inline)]).vectors == {}


@pytest.mark.parametrize(
    "action",
    [
        add("hdfs://nn/t/a"),
        add("/t/a"),
        add("file:/t/a"),
        add("%2E%2E/a"),
        remove("/t/a"),
        {"cdc": {"path": "/t/a"}},
        add("a", deletionVector={**VECTOR, "storageType": "p", "pathOrInlineDv": "file:/v"}),
        add("a", deletionVector={**VECTOR, "pathOrInlineDv": "short"}),
        {"protocol": {"minReaderVersion": 4, "minWriterVersion": 7}},
        {"protocol": {"minReaderVersion": 3, "readerFeatures": ["catalogManaged"]}},
        {"protocol": {"minWriterVersion": 7, "writerFeatures": ["icebergCompatV2"]}},
        {
            "metaData": {
                "configuration": {"delta.coordinatedCommits.commitCoordinator-preview": "x"}
            }
        },
    ],
)
def test_tables_that_have_more_than_their_directory_are_refused(action: dict[str, Any]) -> None:
    with pytest.raises(FilesNotEnough):
        state([action])


def test_features_that_are_known_are_accepted() -> None:
    names = ["deletionVectors", "columnMapping"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names}
    state([{"protocol": protocol}, {"metaData": {"configuration": {"delta.appendOnly": "true"}}}])


def test_a_damaged_commit_is_refused() -> None:
    with pytest.raises(FilesNotEnough, match="cannot be read"):
        list(parse_commit("{"))


def test_the_example_is_a_uuid() -> None:
    assert uuid.UUID(BIN[-40:-4])
