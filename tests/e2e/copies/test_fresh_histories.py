"""Random histories of one partitioned table with real Spark: writers through the proxy and past it,
by table, path, second table, DataFrame and stream, with copies published and marks left in between.
After each step every cluster reads the primary's rows.

CAUSEWAY_HISTORIES is the number of histories (1), CAUSEWAY_SEED the seed of the first one.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

import pytest
from pyhive import hive

from cli.stack.stack import Stack
from conf.names import TableRef
from conf.placement import OpenWrite
from conf.write_ids import new_id
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.placement.assign import end_writes
from metastore.placement.placement_store import PlacementStore
from tests.e2e.conftest import C1, C2, Sql, Tables, rows, server
from tests.e2e.support.spark_job import SparkJob

pytestmark = pytest.mark.e2e

HISTORIES = int(os.environ.get("CAUSEWAY_HISTORIES", "1"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
STEPS = 10
DAYS = "ab"
DEAD = "dead"  # the writer of a mark that is left


@pytest.fixture(scope="module")
def job(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkJob]:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")
    running = SparkJob(stack, C1, tmp_path_factory.mktemp("job"))
    yield running
    running.close()


@dataclass
class History:
    """`rows` are the primary's rows by day. `steps` are the steps so far, for messages."""

    stack: Stack
    job: SparkJob
    tables: Tables
    table: str
    chance: Random
    direct: Any
    proxied: Any
    elsewhere: Any
    rows: dict[str, list[int]] = field(default_factory=lambda: {day: [0] for day in DAYS})
    steps: list[str] = field(default_factory=list)
    streamed: set[str] = field(default_factory=set)  # days whose folder has a stream's log
    number: int = 0

    def play(self) -> None:
        actions: list[Callable[[str], None]] = [
            self.insert_directly,
            self.insert_anywhere,
            self.insert_through_the_proxy,
            self.overwrite_the_folder,
            self.insert_into_the_second_table,
            self.append_a_dataframe,
            self.insert_a_dataframe,
            self.stream_into_the_folder,
            self.stream_into_the_second_table,
            self.leave_a_mark,
            self.end_marks,
        ]
        for _ in range(STEPS):
            if self.chance.random() < 0.6:
                self.copy(self.chance.choice(DAYS))
            self.chance.choice(actions)(self.chance.choice(DAYS))
            self.check()

    def check(self) -> None:
        truth = Counter((number, day) for day, numbers in self.rows.items() for number in numbers)
        for who, cursor in (("c1", self.direct), ("c2", self.elsewhere), ("proxy", self.proxied)):
            found = Counter(rows(cursor, f"SELECT a, ds FROM {self.table}"))
            assert found == truth, f"{who} after {self.steps}"

    def done(self, what: str, day: str) -> None:
        """Waits until the step's own marks are gone: some ends are reported a moment later."""
        self.steps.append(f"{what} {day}")
        end = monotonic() + 60
        while any(mark.by != DEAD for mark in self.marks()):
            assert monotonic() < end, f"marks are left after {self.steps}"
            sleep(0.05)

    def marks(self) -> tuple[OpenWrite, ...]:
        with HmsClient((self.stack.ports.metastore,)) as client:
            return PlacementStore(client, C1).table(TableRef.parse(self.table))[1].open

    def next(self) -> int:
        self.number += 1
        return self.number

    def folder(self, day: str) -> str:
        return f"file://{self.tables.location(self.table, f'ds={day}')}"

    # steps

    def insert_directly(self, day: str) -> None:
        row = self.next()
        self.direct.execute(f"INSERT INTO {self.table} PARTITION (ds = '{day}') VALUES ({row})")
        self.rows[day].append(row)
        self.done("direct", day)

    def insert_anywhere(self, day: str) -> None:
        row = self.next()
        self.direct.execute(f"INSERT INTO {self.table} VALUES ({row}, '{day}')")
        self.rows[day].append(row)
        self.done("dynamic", day)

    def insert_through_the_proxy(self, day: str) -> None:
        row = self.next()
        self.proxied.execute(f"INSERT INTO {self.table} PARTITION (ds = '{day}') VALUES ({row})")
        self.rows[day].append(row)
        self.done("proxy", day)

    def overwrite_the_folder(self, day: str) -> None:
        row = self.next()
        self.direct.execute(
            f"INSERT OVERWRITE DIRECTORY '{self.folder(day)}' USING parquet SELECT {row} AS a"
        )
        self.rows[day] = [row]
        self.streamed.discard(day)
        self.done("directory", day)

    def insert_into_the_second_table(self, day: str) -> None:
        row = self.next()
        alias = f"{self.table}_{row}"
        create = f"CREATE TABLE {alias} (a int) USING parquet LOCATION '{self.folder(day)}'"
        cursor = self.chance.choice([self.direct, self.proxied])
        for text in (create, f"INSERT INTO {alias} VALUES ({row})", f"DROP TABLE {alias}"):
            cursor.execute(text)
        self.rows[day].append(row)
        self.done("second table", day)

    def append_a_dataframe(self, day: str) -> None:
        row = self.next()
        self.job("save", path=self.folder(day), mode="append", rows=[[row]], columns=["a"])
        self.rows[day].append(row)
        self.done("dataframe", day)

    def insert_a_dataframe(self, day: str) -> None:
        row = self.next()
        self.job("insert_into", table=self.table, rows=[[row, day]], columns=["a", "ds"])
        self.rows[day].append(row)
        self.done("dataframe into table", day)

    def stream_into_the_folder(self, day: str) -> None:
        if day in self.streamed:
            return  # the log of an earlier stream would make Spark skip the first batch
        row = self.next()
        self.job("stream", path=self.folder(day), rows=[row])
        self.streamed.add(day)
        self.rows[day].append(row)
        self.done("stream", day)

    def stream_into_the_second_table(self, day: str) -> None:
        if day in self.streamed:
            return
        row = self.next()
        alias = f"{self.table}_{row}"
        folder = self.folder(day)
        self.direct.execute(f"CREATE TABLE {alias} (a int) USING parquet LOCATION '{folder}'")
        self.job("stream", table=alias, rows=[row])
        self.direct.execute(f"DROP TABLE {alias}")
        self.streamed.add(day)
        self.rows[day].append(row)
        self.done("stream into second table", day)

    def leave_a_mark(self, day: str) -> None:
        with HmsClient((self.stack.ports.metastore,)) as client, self.sync() as sync:
            facts = PlacementStore(client, C1, sync)
            facts.open_write(TableRef.parse(self.table), new_id(), [f"ds={day}"], 0, DEAD)
        self.done("mark", day)

    def end_marks(self, day: str) -> None:
        with HmsClient((self.stack.ports.metastore,)) as client, self.sync() as sync:
            end_writes(PlacementStore(client, C1, sync), TableRef.parse(self.table))
        self.done("marks end", day)

    def copy(self, day: str) -> None:
        if not any(mark.covers(f"ds={day}") for mark in self.marks()):
            try:
                self.tables.copy(self.table, C2, f"ds={day}")
            except AssertionError:  # CW307: the end of a DataFrame's or stream's write came late
                sleep(2)
                self.tables.copy(self.table, C2, f"ds={day}")
            self.done("copy", day)

    def sync(self) -> ViewSync:
        return ViewSync(self.stack.ports.views.values(), 20.0)


@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
def test_every_cluster_reads_the_primarys_rows_after_each_step(
    seed: int, stack: Stack, job: SparkJob, tables: Tables, db: str, sql: Sql, tmp_path: Path
) -> None:
    print(f"seed {seed}")
    table = f"{db}.h"
    sql(f"CREATE TABLE {table} (a int, ds string) USING parquet PARTITIONED BY (ds)", cluster=C1)
    for day in DAYS:
        sql(f"INSERT INTO {table} PARTITION (ds = '{day}') VALUES (0)", cluster=C1)
    with (
        closing(hive.connect(*_address(stack, C1))) as direct,
        closing(hive.connect(*_address(stack, None))) as proxied,
        closing(hive.connect(*_address(stack, C2))) as elsewhere,
    ):
        cursors = [each.cursor() for each in (direct, proxied, elsewhere)]
        History(stack, job, tables, table, Random(seed), *cursors).play()


def _address(stack: Stack, cluster: Any) -> tuple[str, int]:
    endpoint = server(stack, cluster)
    return endpoint.host, endpoint.port
