"""Reads changed rows of Hudi tables as a Spark DataFrame, and Hudi tables through Hadoop.

A small change is read in this process and given to Spark as rows, because a job would take longer.
For a large one Spark reads the base files of the plan, and tasks merge slices with logs by hudi-rs;
for that the files have to be on their machine.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.rdd import PythonEvalType
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType
from pyspark.sql.udf import UserDefinedFunction

from pipeline.copy.endpoints import ANY
from pipeline.hudi.errors import IncrementalError, MissingPath, NotAHudiTable, StorageFault
from pipeline.hudi.plan import Plan, RowFilter, plan
from pipeline.hudi.read import COMMIT_TIME, merge_options_of, merge_slice, plain_rows, schema_of
from pipeline.hudi.read import changed_rows as rows_of
from pipeline.hudi.table.slices import FileSlice
from pipeline.hudi.table.storage import FileInfo, HudiStorage, LocalStorage, is_local, local_path
from pipeline.hudi.table.table import open_table

SMALL = 16 << 20  # Tasks read changes with more bytes of files.
_PLAIN = frozenset(
    {
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"),
    }
)  # fmt: skip

BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"

# The settings of a session that creates, writes and queries Hudi tables. The jar has to be on the
# driver's class path: with --jars, Thrift clients get a ClassNotFoundException.
SESSION_CONF: Mapping[str, str] = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}


def read(spark: SparkSession, table: str, since: str, until: str | None = None) -> DataFrame:
    """The rows of a Hudi table that changed in (since, until], with meta columns. `table` is a path
    or a name in the metastore. Raises IncrementalError.
    """
    base = table_location(spark, table)
    return changed_rows(spark, plan(open_table(base, storage_for(spark, base)), since, until))


def changed_rows(spark: SparkSession, planned: Plan) -> DataFrame:
    """The rows of a plan. Opens only files of the plan and lists no folder."""
    options = merge_options_of(planned)
    if planned.bytes <= SMALL:
        rows = rows_of(planned)
        if all(_is_plain(kind) for kind in rows.schema.types):
            return _local_rows(spark, rows)
    return _rows_of_tasks(spark, planned, options)


def _local_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A DataFrame of these rows, which Spark collects without a job."""
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


def _rows_of_tasks(spark: SparkSession, planned: Plan, options: Mapping[str, str]) -> DataFrame:
    schema = _schema_of(spark, planned)
    by_spark: list[FileSlice] = []
    by_arrow: list[FileSlice] = []
    for part in planned.slices:
        (by_arrow if part.logs or _needs_cast(part, schema) else by_spark).append(part)
    frames = []
    if by_spark:
        paths = (part.base.path for part in by_spark if part.base)
        files = spark.read.schema(_spark_schema(schema)).parquet(*paths)
        frames.append(files.where(_condition(planned.rows)))
    if by_arrow or not frames:
        frames.append(_rows_of_arrow_tasks(spark, planned, by_arrow, options, schema))
    return reduce(DataFrame.unionByName, frames)


def _schema_of(spark: SparkSession, planned: Plan) -> pa.Schema:
    """The schema as `schema_of` returns it, but Spark reads the footer of a remote base file."""
    remote = [p.base for p in planned.slices if p.base and not is_local(p.base.path)]
    if not remote or planned.table.schema() is not None:
        return schema_of(planned)
    newest = max(remote, key=lambda b: b.name.rpartition("_")[2])
    return to_arrow_schema(spark.read.parquet(newest.path).schema)


def _needs_cast(part: FileSlice, schema: pa.Schema) -> bool:
    """Whether a base file has a column with an older type, which Spark 3.5 cannot read. Footers of
    files on other machines are not read here, so a read of such files fails.
    """
    if part.base is None or not is_local(part.base.path):
        return False
    old = pq.read_schema(local_path(part.base.path))
    return any(not schema.field(f.name).type.equals(f.type) for f in old if f.name in schema.names)


def table_location(spark: SparkSession, table: str) -> str:
    """The base path of a table, given by its path or by its name in the session's catalog."""
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
    selected = time.isin(sorted(rows.instants))
    if rows.older is not None:
        selected = selected | ((time > rows.older[0]) & (time < rows.older[1]))
    return selected


def _rows_of_arrow_tasks(
    spark: SparkSession,
    planned: Plan,
    parts: Sequence[FileSlice],
    options: Mapping[str, str],
    schema: pa.Schema,
) -> DataFrame:
    """The rows of slices that Spark cannot read itself. One task reads each slice by Arrow."""
    base, rows = planned.table.base, planned.rows

    def read_slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                part = parts[number]
                if part.logs:
                    yield from merge_slice(base, options, part, rows, schema)
                else:
                    yield from plain_rows([part], rows, schema)

    numbers = spark.range(0, len(parts), numPartitions=max(1, len(parts)))
    # DataFrame.mapInArrow does the same, but requires pandas.
    mapper = UserDefinedFunction(
        read_slices,
        returnType=_spark_schema(schema),
        evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    )
    column = mapper(numbers["id"])
    return DataFrame(numbers._jdf.pythonMapInArrow(column._jc.expr(), False), spark)


def _spark_schema(schema: pa.Schema) -> StructType:
    """The schema for Spark. Every column is nullable, like those that Spark reads from files."""
    fields = from_arrow_schema(schema, prefer_timestamp_ntz=False)
    return StructType([StructField(field.name, field.dataType, True) for field in fields])


def storage_for(
    spark: SparkSession, path: str, endpoints: Mapping[str, Mapping[str, str]] | None = None
) -> HudiStorage:
    """The storage for a path: files of this machine are read directly, all others through the
    session's Hadoop. `endpoints` as in HadoopStorage.
    """
    return LocalStorage() if is_local(path) else HadoopStorage(spark, endpoints)


class HadoopStorage:
    """The file systems of the session's Hadoop, called in the driver's JVM.

    `endpoints` are settings by authority, as `read_endpoints` returns them.
    """

    def __init__(
        self, spark: SparkSession, endpoints: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._jvm: Any = spark._jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._conf = spark._jsc.hadoopConfiguration()
        self._endpoints = endpoints or {}
        self._systems: dict[str, Any] = {}

    def list(self, path: str) -> list[FileInfo]:
        system, where = self._locate(path)
        try:
            itself = system.makeQualified(where)
            return [_status(path, status, itself) for status in system.listStatus(where)]
        except Py4JJavaError as error:
            fault = _fault(path, error)
            if isinstance(fault, MissingPath) and self.exists(path):
                fault = StorageFault(f"{path} changed while it was listed.")
            raise fault from error

    def names(self, path: str) -> Sequence[str]:
        return [entry.name for entry in self.list(path)]

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

    def fetch(self, path: str, into: str) -> None:
        system, where = self._locate(path)
        try:
            system.copyToLocalFile(False, where, self._jvm.org.apache.hadoop.fs.Path(into), True)
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def put(self, local: str, path: str) -> None:
        """Copies a file of this machine to a new path, and makes its folder."""
        system, where = self._locate(path)
        try:
            source = self._jvm.org.apache.hadoop.fs.Path(f"file:{local}")
            system.copyFromLocalFile(False, False, source, where)
        except Py4JJavaError as error:
            raise _fault(path, error) from error

    def rename(self, path: str, to: str, *, replace: bool) -> bool:
        """Renames a file of HDFS in one step. Returns False, without `replace`, if `to` exists."""
        system, where = self._locate(path)
        _, target = self._locate(to)
        options = self._jvm.org.apache.hadoop.fs.Options.Rename
        try:
            if not replace:
                return bool(system.rename(where, target))
            kinds = self._gateway.new_array(options, 1)
            kinds[0] = options.OVERWRITE
            context = self._jvm.org.apache.hadoop.fs.FileContext
            context.getFileContext(system.getUri(), system.getConf()).rename(where, target, kinds)
            return True
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
        # Hadoop's cache of open file systems ignores their settings.
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
