"""Changed rows of Hudi tables as a Spark DataFrame, and how a session comes to know Hudi.

The plan is made by `pipeline.hudi` from the timeline. What is small is read right here and
handed to Spark as rows, because a job costs more than such a change; of what is not, Spark opens
the files that the plan names, and slices with logs are merged by hudi-rs where the executors run.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.rdd import PythonEvalType
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType
from pyspark.sql.udf import UserDefinedFunction

from pipeline.copy.endpoints import ANY
from pipeline.hudi.errors import (
    IncrementalError,
    MissingPath,
    NotAHudiTable,
    StorageFault,
)
from pipeline.hudi.plan import Plan, RowFilter, plan
from pipeline.hudi.read import COMMIT_TIME, check_readable, merge_slice, schema_of
from pipeline.hudi.read import changed_rows as rows_of
from pipeline.hudi.table.storage import FileInfo, HudiStorage, LocalStorage
from pipeline.hudi.table.table import open_table

SMALL = 16 << 20  # bytes of files; more are read by tasks
_PLAIN = frozenset(
    {
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"),
    }
)  # fmt: skip

BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"

# What a session needs to create, write and query Hudi tables; the jar has to be on the
# driver's class path (with --jars, Thrift clients meet ClassNotFoundException).
SESSION_CONF: Mapping[str, str] = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}


def read(spark: SparkSession, table: str, since: str, until: str | None = None) -> DataFrame:
    """Rows changed in (since, until] of a Hudi table, given by path or by metastore name.

    Meta columns are kept. Raises IncrementalError.
    """
    base = table_location(spark, table)
    return changed_rows(spark, plan(open_table(base, storage_for(spark, base)), since, until))


def changed_rows(spark: SparkSession, planned: Plan) -> DataFrame:
    """The rows of a plan. Only files of the plan are opened; no folder is listed."""
    check_readable(planned)
    if planned.bytes <= SMALL and isinstance(planned.table.storage, LocalStorage):
        rows = rows_of(planned)
        if all(_is_plain(kind) for kind in rows.schema.types):
            return _local_rows(spark, rows)
    return _rows_of_tasks(spark, planned)


def _local_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A DataFrame that needs no job to be collected."""
    with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows)
        file.flush()
        jvm: Any = spark._jvm
        batches = jvm.PythonSQLUtils.readArrowStreamFromFile(file.name)
        text = _spark_schema(rows.schema).json()
        frame = jvm.PythonSQLUtils.toDataFrame(batches, text, spark._jsparkSession)
    return DataFrame(frame, spark)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether Spark reads the type from Arrow as it does from Parquet."""
    if pa.types.is_list(kind) or pa.types.is_struct(kind) or pa.types.is_map(kind):
        return all(_is_plain(kind.field(n).type) for n in range(kind.num_fields))
    return kind in _PLAIN or pa.types.is_decimal128(kind)


def _rows_of_tasks(spark: SparkSession, planned: Plan) -> DataFrame:
    bases = [part.base for part in planned.slices if part.base and not part.logs]
    frames = []
    if bases:
        # One footer gives the schema: by default Spark would open any one of the files.
        newest = max(bases, key=lambda b: b.name.rpartition("_")[2])
        schema = spark.read.parquet(newest.path).schema
        files = spark.read.schema(schema).parquet(*(b.path for b in bases))
        frames.append(files.where(_condition(planned.rows)))
    if any(part.logs for part in planned.slices) or not frames:
        frames.append(_merged(spark, planned))
    return reduce(DataFrame.unionByName, frames)


def table_location(spark: SparkSession, table: str) -> str:
    """The base path of a table given by path, or by name as the session's catalog has it."""
    if "/" in table:
        return table.rstrip("/")
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    location = next((r["data_type"] for r in rows if r["col_name"] == "Location"), None)
    if location is None:
        raise NotAHudiTable(f"{table} has no location.")
    return str(location).rstrip("/")


def _condition(rows: RowFilter | None) -> Column:
    if rows is None:
        return F.lit(True)
    time = F.col(COMMIT_TIME)
    wanted = time.isin(sorted(rows.instants))
    if rows.older is not None:
        wanted = wanted | ((time > rows.older[0]) & (time < rows.older[1]))
    return wanted


def _merged(spark: SparkSession, planned: Plan) -> DataFrame:
    """Slices with logs, each merged by one task and handed to Spark as Arrow batches."""
    schema = schema_of(planned)
    base, rows = planned.table.base, planned.rows
    slices = [part for part in planned.slices if part.logs]

    def merge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from merge_slice(base, slices[number], rows, schema)

    numbers = spark.range(0, len(slices), numPartitions=max(1, len(slices)))
    # DataFrame.mapInArrow would do, did it not insist on pandas being installed.
    mapper = UserDefinedFunction(
        merge, returnType=_spark_schema(schema), evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF
    )
    column = mapper(numbers["id"])
    return DataFrame(numbers._jdf.pythonMapInArrow(column._jc.expr(), False), spark)


def _spark_schema(schema: pa.Schema) -> StructType:
    """All columns may be null, as in what Spark reads from files."""
    fields = from_arrow_schema(schema, prefer_timestamp_ntz=False)
    return StructType([StructField(field.name, field.dataType, True) for field in fields])


def storage_for(spark: SparkSession, path: str) -> HudiStorage:
    """Files of this machine read directly, all others through the session's Hadoop."""
    return LocalStorage() if path.startswith(("/", "file:")) else HadoopStorage(spark)


class HadoopStorage:
    """Any file system that the session's Hadoop knows, asked through its driver JVM.

    `endpoints` are settings by authority, as `read_endpoints` gives them.
    """

    def __init__(
        self, spark: SparkSession, endpoints: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._jvm: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()
        self._endpoints = endpoints or {}
        self._systems: dict[str, Any] = {}

    def list(self, path: str) -> list[FileInfo]:
        system, where = self._locate(path)
        try:
            itself = system.makeQualified(where)
            return [_status(path, status, itself) for status in system.listStatus(where)]
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def read(self, path: str) -> bytes:
        system, where = self._locate(path)
        try:
            stream = system.open(where)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def exists(self, path: str) -> bool:
        system, where = self._locate(path)
        try:
            return bool(system.exists(where))
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def _locate(self, path: str) -> tuple[Any, Any]:
        where = self._jvm.org.apache.hadoop.fs.Path(path)
        authority = str(where.toUri().getAuthority() or "")
        try:
            if authority not in self._systems:
                self._systems[authority] = self._opened(where, authority)
            return self._systems[authority], where
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def _opened(self, where: Any, authority: str) -> Any:
        settings = self._endpoints.get(authority, self._endpoints.get(ANY))
        if settings is None:
            return where.getFileSystem(self._conf)
        conf = self._jvm.org.apache.hadoop.conf.Configuration(self._conf)
        for key, value in settings.items():
            conf.set(key, value)
        # Hadoop would give whatever it has opened there with any settings.
        return self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(where.toUri(), conf)


def _status(path: str, status: Any, itself: Any) -> FileInfo:
    child = status.getPath()
    where = path if child.equals(itself) else f"{path.rstrip('/')}/{child.getName()}"
    is_dir = bool(status.isDirectory())
    return FileInfo(where, int(status.getLen()), int(status.getModificationTime()), is_dir)


def _fault(path: str, error: Py4JJavaError) -> IncrementalError:
    cause = str(error.java_exception)
    if "FileNotFoundException" in cause:
        return MissingPath(f"{path} does not exist.")
    return StorageFault(f"{path}: {cause}")
