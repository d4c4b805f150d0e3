"""An embedded metastore with tables of very many partitions, written directly into its database.

Through Thrift, Derby takes 5 to 15 ms for a partition, so hours for a million; plain SQL takes some
seconds.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cli.stack.java import find_java
from cli.stack.plan import Service, StackSpec, jvm, metastore_service
from cli.stack.stack import Stack, spark_home
from conf.names import ClusterName, TableRef
from conf.placement import COPY_PREFIX, Placement, write_placement
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from pipeline.spark.jar import guard_jar

EAST, WEST = ClusterName("east"), ClusterName("west")
DATABASE = "filled"
COLUMNS = [(f"column_{number}", "string") for number in range(10)]
HOURS = 100  # partitions of one day
FIRST_DAY = "d100000"
FEW = 100  # copies
FEW_AT = 100_000  # partitions
WHOLE = 10_000  # partitions with values, storage and parameters; of the others there are just names
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


class Alone(Stack):
    """The embedded metastore without the rest of the stack."""

    def __init__(self, folder: Path) -> None:
        super().__init__(StackSpec((EAST, WEST)), folder)

    def _plan(self) -> list[Service]:
        return [metastore_service(find_java(), spark_home(), guard_jar(), self.layout, self.ports)]


@contextmanager
def filled(folder: Path, counts: Sequence[int]) -> Iterator[Endpoint]:
    """A metastore whose table `filled.t<count>` has so many partitions, for each count.

    Keys `ds` (a day, text) and `hr` (0 to 99, text); every third one has a fresh copy in WEST, of
    `filled.few<count>` FEW, which the table names; of up to FEW_AT partitions there is that table.
    A folder that was filled so before is used as it is.
    """
    done = folder / "filled"
    if not done.exists() or done.read_text() != str(counts):
        _fill(folder, counts)
        done.write_text(str(counts))
    with Alone(folder) as full:
        yield full.ports.metastore


def _fill(folder: Path, counts: Sequence[int]) -> None:
    with Alone(folder) as empty, HmsClient((empty.ports.metastore,), timeout=600.0) as client:
        client.create_database(Database.make(DATABASE, empty.layout.filesystem(EAST)))
        root = empty.layout.filesystem(EAST)
        for count in counts:
            _first_partition(client, table_of(count), Placement(EAST), root)
            if count <= FEW_AT:
                placed = Placement(EAST, facts="few", exceptions=few_copied())
                _first_partition(client, few_of(count), placed, root)
    _run_sql(empty, folder / "fill.sql", "\n".join(_sql(counts)))


def table_of(count: int) -> TableRef:
    return TableRef(DATABASE, f"t{count}")


def few_of(count: int) -> TableRef:
    return TableRef(DATABASE, f"few{count}")


def few_copied() -> frozenset[str]:
    """The partitions of `few<count>` that have copies: one of each of the first FEW days."""
    return frozenset(f"ds=d{100_000 + day}/hr=0" for day in range(FEW))


def _first_partition(client: HmsClient, ref: TableRef, placed: Placement, root: str) -> None:
    table = Table.make(
        ref,
        COLUMNS,
        location=f"{root}/{ref.name}",
        partition_keys=[("ds", "string"), ("hr", "string")],
        parameters=write_placement(placed),
        kind="EXTERNAL_TABLE",
    )
    client.create_table(table)
    first = Partition.make(table, ["first", "0"], f"{table.location}/first", {"numRows": "7"})
    client.add_partitions(table.ref, [first])


def _sql(counts: Sequence[int]) -> Iterator[str]:
    """Copies each table's first partition as often as is wanted, set by set."""
    yield "CREATE TABLE NUMBERS (N INT PRIMARY KEY);"
    yield "INSERT INTO NUMBERS VALUES (0);"
    for power in range(max(counts).bit_length()):
        yield f"INSERT INTO NUMBERS SELECT N + {1 << power} FROM NUMBERS;"
    base = 1000
    for count in counts:
        yield from _copies_of_first(table_of(count), count, base, "MOD(N, 3) = 0")
        base += count
        if count <= FEW_AT:
            yield from _copies_of_first(few_of(count), count, base, f"MOD(N, {HOURS}) = 0")
            base += count
    yield "DROP TABLE NUMBERS;"
    yield f'UPDATE "SEQUENCE_TABLE" SET "NEXT_VAL" = {base + 1};'


def _copies_of_first(ref: TableRef, count: int, base: int, copied: str) -> Iterator[str]:
    ident, every = f"{base} + N", f"N < {count - 1}"
    whole = f"N < {min(count - 1, WHOLE)}"
    day, hour = f"'d' || TRIM(CHAR(100000 + N / {HOURS}))", f"TRIM(CHAR(MOD(N, {HOURS})))"
    first = (
        'FROM NUMBERS, "TBLS" T JOIN "PARTITIONS" P ON P."TBL_ID" = T."TBL_ID"'
        ' JOIN "SDS" S ON S."SD_ID" = P."SD_ID"'
        f' WHERE T."TBL_NAME" = \'{ref.name}\' AND P."PART_ID" < 1000'
    )
    formats = 'S."INPUT_FORMAT", S."IS_COMPRESSED", S."IS_STOREDASSUBDIRECTORIES"'
    yield (
        'INSERT INTO "SERDES" ("SERDE_ID", "NAME", "SLIB")'
        f" SELECT {ident}, CAST(NULL AS VARCHAR(128)), '{SERDE}' FROM NUMBERS WHERE {whole};"
    )
    yield (
        'INSERT INTO "SDS" ("SD_ID", "CD_ID", "INPUT_FORMAT", "IS_COMPRESSED",'
        ' "IS_STOREDASSUBDIRECTORIES", "LOCATION", "NUM_BUCKETS", "OUTPUT_FORMAT", "SERDE_ID")'
        f' SELECT {ident}, S."CD_ID", {formats}, S."LOCATION" || TRIM(CHAR(N)),'
        f' S."NUM_BUCKETS", S."OUTPUT_FORMAT", {ident} {first} AND {whole};'
    )
    name = f"'ds=' || {day} || '/hr=' || {hour}"
    storage = f'CASE WHEN {whole} THEN {ident} ELSE P."SD_ID" END'
    yield (
        'INSERT INTO "PARTITIONS" ("PART_ID", "CREATE_TIME", "LAST_ACCESS_TIME", "PART_NAME",'
        f' "SD_ID", "TBL_ID") SELECT {ident}, 1, 0, {name}, {storage}, P."TBL_ID"'
        f" {first} AND {every};"
    )
    for index, value in enumerate((day, hour)):
        yield (
            'INSERT INTO "PARTITION_KEY_VALS" ("PART_ID", "PART_KEY_VAL", "INTEGER_IDX")'
            f" SELECT {ident}, {value}, {index} FROM NUMBERS WHERE {whole};"
        )
    yield _parameter(ident, "numRows", "'7'", whole)
    copy = """'{"location":"file:/west/' || TRIM(CHAR(N)) || '","of":"0/0"}'"""
    yield _parameter(ident, COPY_PREFIX + WEST, copy, f"{whole} AND {copied}")


def _parameter(ident: str, key: str, value: str, chosen: str) -> str:
    return (
        'INSERT INTO "PARTITION_PARAMS" ("PART_ID", "PARAM_KEY", "PARAM_VALUE")'
        f" SELECT {ident}, '{key}', {value} FROM NUMBERS WHERE {chosen};"
    )


def _run_sql(stack: Stack, script: Path, text: str) -> None:
    """Runs the SQL with beeline, which connects to Derby through JDBC."""
    script.write_text(text)
    words = [*jvm(find_java(), "1g", stack.layout.root), "-Dderby.storage.pageCacheSize=20000"]
    words += ["-Dderby.system.durability=test"]  # faster: a crash may lose the data
    words += ["-cp", f"{spark_home() / 'jars'}/*", "org.apache.hive.beeline.BeeLine"]
    words += ["-u", f"jdbc:derby:{stack.layout.derby}", "--silent=true"]
    words += ["-d", "org.apache.derby.jdbc.EmbeddedDriver", "-n", "", "-p", "", "-f", str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or "Error" in done.stderr:
        raise RuntimeError(f"filling the metastore failed: {done.stderr[-2000:]}")
