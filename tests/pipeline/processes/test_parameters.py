"""FA-P2: every parameter, as the document and as Falcon names them."""

import pytest

from pipeline.falcon.calendar import parse_time
from pipeline.falcon.documents import document
from pipeline.processes.parameters import filter_text, parameters_of
from tests.pipeline.falcon.documents import (
    CLUSTER,
    FALCON,
    FEED,
    needs_documents,
    read_entities,
    read_process,
)


@pytest.fixture
def document_parameters() -> dict[str, str]:
    values = {"cluster": "primary-cluster", "processName": "table-process"}
    texts = {
        path.stem: document.substitute(path.read_bytes(), values).decode()
        for path in (FALCON / "spec004").glob("*.xml")
    }
    around = read_entities(
        texts["primary-cluster"], texts["input-table-feed"], texts["output-table-feed"]
    )
    pig = read_process(texts["pig-process"])
    time = parse_time("2012-04-21T00:00Z")
    return parameters_of(pig, "primary-cluster", around, time, "testuser")


@needs_documents
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input_database", "falcon_db"),
        ("input_table", "input_table"),
        ("input_filter", "(ds=='2012-04-21-00')"),
        ("output_database", "falcon_db"),
        ("output_table", "output_table"),
        ("output_dataout_partitions", "ds=2012-04-21-00"),
        ("blah", "blah"),
        ("falcon_input_storage_type", "TABLE"),
        ("falcon_input_catalog_url", "thrift://localhost:19083"),
        ("falcon_input_database", "falcon_db"),
        ("falcon_input_table", "input_table"),
        ("falcon_input_filter", "(ds=='2012-04-21-00')"),
        ("falcon_input_partition_filter_pig", "(ds=='2012-04-21-00')"),
        ("falcon_input_partition_filter_hive", "(ds='2012-04-21-00')"),
        ("falcon_input_partition_filter_java", "(ds='2012-04-21-00')"),
        ("falcon_output_storage_type", "TABLE"),
        ("falcon_output_catalog_url", "thrift://localhost:19083"),
        ("falcon_output_database", "falcon_db"),
        ("falcon_output_table", "output_table"),
        ("falcon_output_partitions", "ds=2012-04-21-00"),
        ("falcon_output_partitions_pig", "ds=2012-04-21-00"),
        ("falcon_output_partitions_hive", "ds='2012-04-21-00'"),
        ("falcon_output_partitions_java", "ds=2012-04-21-00"),
        ("falcon_output_dated_partition_value_ds", "2012-04-21-00"),
        ("falcon_output_dataout_partitions", "ds=2012-04-21-00"),
        ("nominalTime", "2012-04-21-00-00"),
        ("workflowUser", "testuser"),
        ("feedNames", "output-table"),
        (
            "feedInstancePaths",
            "thrift://localhost:19083/falcon_db/output_table/ds=2012-04-21-00",
        ),
    ],
)
def test_the_document_process(document_parameters: dict[str, str], name: str, value: str) -> None:
    assert document_parameters[name] == value


def test_a_window_of_a_table_with_a_static_key() -> None:
    around = read_entities(CLUSTER.replace("{name}", "c1"), CLUSTER.replace("{name}", "c2"), FEED)
    found = parameters_of(
        read_process(), "c1", around, parse_time("2013-09-25T01:00Z"), "ann", run=2
    )
    assert found["in_filter"] == (
        "((ds='2013-09-25-00' AND region='us') OR (ds='2013-09-25-01' AND region='us'))"
    )
    assert found["falcon_in_partition_filter_pig"] == (
        "((ds=='2013-09-25-00' and region=='us') or (ds=='2013-09-25-01' and region=='us'))"
    )
    assert found["falcon_out_partitions_hive"] == "ds='2013-09-25-01',region='us'"
    assert found["runId"] == "2"


def test_paths_are_the_parameters_of_path_feeds() -> None:
    paths = FEED.replace(
        '<table uri="catalog:tgt:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>', ""
    ).replace(
        '<table uri="catalog:src:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
        '<locations><location type="data" path="/data/${YEAR}/${MONTH}/${DAY}/${HOUR}"/>'
        "</locations>",
    )
    around = read_entities(CLUSTER.replace("{name}", "c1"), CLUSTER.replace("{name}", "c2"), paths)
    found = parameters_of(read_process(), "c1", around, parse_time("2013-09-25T01:00Z"), "ann")
    assert found["in"] == "file:///data/2013/09/25/00,file:///data/2013/09/25/01"
    assert found["out"] == "file:///data/2013/09/25/01"
    assert found["falcon_in_storage_type"] == "FILESYSTEM"


def test_a_filter_of_one_partition_has_no_extra_parentheses() -> None:
    assert filter_text([(("ds", "1"),)], "=") == "(ds='1')"
