"""The ways in which Iceberg and Delta tables are registered."""

import pytest

from conf.names import TableRef
from metastore.client.types import Table, text_storage
from metastore.placement.open_formats import (
    metadata_of,
    open_format,
    why_files_are_not_enough,
    why_not_copied,
)
from thriftcodec.values import STRING

PROVIDER = "spark.sql.sources.provider"
TEXT = "org.apache.hadoop.mapred.TextInputFormat"


@pytest.mark.parametrize(
    ("input_format", "parameters", "expected"),
    [
        (TEXT, {"table_type": "ICEBERG"}, "Iceberg"),
        (TEXT, {"table_type": "iceberg", PROVIDER: "parquet"}, "Iceberg"),
        (TEXT, {PROVIDER: "Iceberg"}, "Iceberg"),
        ("org.apache.iceberg.mr.hive.HiveIcebergInputFormat", {}, "Iceberg"),
        (
            TEXT,
            {"storage_handler": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"},
            "Iceberg",
        ),
        (TEXT, {PROVIDER: "delta"}, "Delta"),
        ("io.delta.hive.DeltaInputFormat", {}, "Delta"),
        (TEXT, {"storage_handler": "io.delta.hive.DeltaStorageHandler"}, "Delta"),
        (TEXT, {PROVIDER: "hudi"}, None),
        (TEXT, {PROVIDER: "parquet", "table_type": "plain"}, None),
        (TEXT, {}, None),
    ],
)
def test_which_format_a_table_has(
    input_format: str, parameters: dict[str, str], expected: str | None
) -> None:
    storage = text_storage()
    storage.set(3, STRING, input_format)
    table = Table.make(TableRef("d", "t"), (), parameters=parameters, storage=storage)
    assert open_format(table) == expected
    for why in (why_not_copied(table), why_files_are_not_enough(table)):
        assert (why is None) if expected != "Iceberg" else "d.t is a table of Iceberg" in str(why)


def test_a_table_of_iceberg_is_copied_by_its_metadata_file() -> None:
    """A copy of its files by any other means names the primary's files."""
    parameters = {"table_type": "ICEBERG", "metadata_location": "s3://b/t/metadata/1.json"}
    table = Table.make(TableRef("d", "t"), (), parameters=parameters)
    assert metadata_of(table) == "s3://b/t/metadata/1.json"
    assert why_not_copied(table) is None
    assert "names the files of the primary" in str(why_files_are_not_enough(table))
    parted = Table.make(
        TableRef("d", "t"), (), parameters=parameters, partition_keys=(("p", "int"),)
    )
    assert why_not_copied(parted) is not None
    other = {"metadata_location": "s3://b/t/metadata/1.json"}
    assert metadata_of(Table.make(TableRef("d", "t"), (), parameters=other)) == ""
