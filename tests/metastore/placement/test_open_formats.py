"""The ways in which Iceberg and Delta tables are registered."""

import pytest

from conf.names import TableRef
from metastore.client.types import Table, text_storage
from metastore.placement.open_formats import open_format, why_not_copied
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
    why = why_not_copied(table)
    assert (why is None) if expected != "Iceberg" else f"d.t is a table of {expected}" in str(why)
