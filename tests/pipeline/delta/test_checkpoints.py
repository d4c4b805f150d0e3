"""Checkpoints as Spark writes them: a column for each kind of action, statistics left out."""

import io

import pyarrow
import pyarrow.parquet
import pytest

from pipeline.delta.checkpoints import read_checkpoint, sidecar_path
from pipeline.delta.table_state import DeltaState
from pipeline.errors import FilesNotEnough

PATH = "_delta_log/00000000000000000001.checkpoint.parquet"


def parquet(*rows: dict[str, object]) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), out)
    return out.getvalue()


def test_the_state_of_a_checkpoint() -> None:
    vector = {"storageType": "p", "pathOrInlineDv": "/v", "sizeInBytes": 1}
    data = parquet(
        {
            "add": {"path": "a%20a", "size": 3, "stats": "x"},
            "remove": None,
            "protocol": None,
            "sidecar": None,
        },
        {"remove": {"path": "a%20a"}},  # of another deletion vector of the file
        {"protocol": {"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]}},
        {"sidecar": {"path": "s.parquet"}},
    )
    actions = list(read_checkpoint(PATH, data))
    sidecars = [sidecar_path(each) for action in actions if (each := action.get("sidecar"))]
    assert sidecars == ["_delta_log/_sidecars/s.parquet"]
    state = DeltaState()
    state.start(actions)
    assert state.files == {"a a": 3}
    with pytest.raises(FilesNotEnough, match="deletion vector"):
        state.start(
            read_checkpoint(
                PATH, parquet({"add": {"path": "b", "size": 1, "deletionVector": vector}})
            )
        )


def test_an_unknown_feature_in_a_checkpoint_is_refused() -> None:
    data = parquet({"protocol": {"minReaderVersion": 3, "readerFeatures": ["new"]}})
    with pytest.raises(FilesNotEnough, match="the feature new"):
        DeltaState().start(read_checkpoint(PATH, data))


def test_settings_in_a_checkpoint_are_pairs() -> None:
    key, text = "delta.coordinatedCommits.tableConf-preview", pyarrow.string()
    settings = pyarrow.array(
        [{"configuration": [(key, "{}")]}],
        pyarrow.struct([("configuration", pyarrow.map_(text, text))]),
    )
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"metaData": settings}), out)
    with pytest.raises(FilesNotEnough, match="another service"):
        DeltaState().start(read_checkpoint(PATH, out.getvalue()))


def test_a_file_that_is_no_checkpoint_is_refused() -> None:
    with pytest.raises(FilesNotEnough, match="cannot be read"):
        DeltaState().start(read_checkpoint(PATH, b"none"))


def test_a_checkpoint_may_be_text() -> None:
    path = PATH.replace(".parquet", ".80a083e8-7026-4e79-81be-64bd76c43a11.json")
    state = DeltaState()
    state.start(read_checkpoint(path, b'{"add": {"path": "a", "size": 1}}\n'))
    assert state.files == {"a": 1}
