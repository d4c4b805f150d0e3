"""The ways in which Hudi tables are registered, by Spark and by Hudi's HiveSync."""

import pytest

from conf.names import TableRef
from metastore.catalog.describe import describe
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.types import Table, text_storage
from thriftcodec.values import STRING

PROVIDER = "spark.sql.sources.provider"
HOODIE = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"


@pytest.mark.parametrize(
    ("input_format", "parameters", "expected"),
    [
        (PARQUET, {PROVIDER: "Hudi"}, (True, "hudi")),
        (HOODIE, {}, (True, "hive")),
        ("com.uber.hoodie.hadoop.HoodieInputFormat", {}, (True, "hive")),
        ("causeway.hudi.HudiParquetInputFormat", {}, (True, "hive")),
        (ORC, {"last_commit_time_sync": "20240101000000000"}, (True, "hive")),
        (ORC, {}, (False, "hive")),
        (PARQUET, {PROVIDER: "parquet"}, (False, "parquet")),
    ],
)
def test_tables_of_hudi_are_recognised(
    input_format: str, parameters: dict[str, str], expected: tuple[bool, str]
) -> None:
    storage = text_storage()
    storage.set(3, STRING, input_format)
    table = Table.make(TableRef("d", "t"), (), parameters=parameters, storage=storage)
    info = describe(table)
    assert (is_hudi(table), info.provider) == expected
    assert info.is_hudi is expected[0]
