"""Retention of Hudi tables by SQL: never by deleting folders, never beside another write."""

from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName, TableRef
from metastore.client.types import Partition, Table
from pipeline.errors import ActionFailed
from pipeline.falcon.entities.cluster import Interface
from pipeline.hudi.table.storage import LocalStorage
from pipeline.replication.plan import FROM
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import Candidate, RetentionPlan, RetentionPolicy, plan_retention
from pipeline.scheduler.actions import hudi_eviction
from pipeline.scheduler.actions.task_places import TableEviction
from tests.pipeline.copy.fakes import Effects, FakeMetastore
from tests.pipeline.falcon.documents import read_cluster, read_feed
from tests.pipeline.hudi.conftest import FakeTable
from tests.pipeline.scheduler.fake_actions import START

CLICKS = TableRef("src", "clicks")
NAMES = ["ds=2013-09-20", "ds=2013-09-21", "ds=2013-09-24"]
POLICY = RetentionPolicy(
    CLICKS, read_date_pattern([("ds", "${YEAR}-${MONTH}-${DAY}")]), timedelta(days=2)
)
HUDI = "Execute AlterHoodieTableDropPartitionCommand"
SPARK = "Execute AlterTableDropPartitionCommand"


class Server:
    """A Thrift Server that returns this plan for EXPLAIN. `drops` acts as Hudi does on a drop."""

    def __init__(self, plan: str, drops: Callable[[], None] = lambda: None) -> None:
        self.plan, self.drops, self.statements = plan, drops, list[str]()

    def __call__(
        self, script: Generator[str, object, None], endpoint: str, user: str, lease: object
    ) -> None:
        self.statements.append(next(script))
        self.statements.append(script.send([(self.plan,)]))
        self.drops()


def plan() -> RetentionPlan:
    return plan_retention(POLICY, [Candidate(name) for name in NAMES], START)


def metastore(location: str = "file:///src", **parameters: str) -> FakeMetastore:
    made = FakeMetastore(Effects())
    table = Table.make(
        CLICKS, (("a", "int"),), location=location, partition_keys=(("ds", "string"),),
        parameters={"spark.sql.sources.provider": "hudi", **parameters},
    )  # fmt: skip
    made.add_table(table)
    for name in NAMES:
        values = [name.partition("=")[2]]
        made.parts[CLICKS][name] = Partition.make(table, values, f"{location}/{name}", {})
    return made


def drop(client: FakeMetastore, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hudi_eviction, "run_statements", server)
    cluster = read_cluster()
    execute = {"execute": Interface("c1:10000", "3.5")}
    cluster = replace(cluster, interfaces={**cluster.interfaces, **execute})
    hudi_eviction.drop_partitions(cast(Any, client), plan(), cluster, "ann", cast(Any, None))


def test_partitions_are_dropped_by_one_statement_that_hudi_executes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = metastore()
    server = Server(HUDI, lambda: client.parts[CLICKS].pop(NAMES[0]))
    drop(client, server, monkeypatch)
    statement = (
        "ALTER TABLE `src`.`clicks` DROP IF EXISTS "
        "PARTITION (`ds` = '2013-09-20'), PARTITION (`ds` = '2013-09-21')"
    )
    assert server.statements == [f"EXPLAIN {statement}", statement]
    assert list(client.parts[CLICKS]) == NAMES[2:], "also what Hudi left in the metastore"


def test_a_server_that_would_delete_folders_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    client, server = metastore(), Server(SPARK)
    with pytest.raises(ActionFailed, match="Hudi"):
        drop(client, server, monkeypatch)
    assert len(server.statements) == 1
    assert list(client.parts[CLICKS]) == NAMES


def test_values_and_names_are_quoted() -> None:
    statement = hudi_eviction.drop_statement(TableRef("d", "t`s"), ["k=a%27%5Cb%2Fc/n=1"])
    expected = r"ALTER TABLE `d`.`t``s` DROP IF EXISTS PARTITION (`k` = 'a\'\\b/c', `n` = '1')"
    assert statement == expected


def test_an_eviction_fails_while_the_table_is_being_written(tmp_path: Path) -> None:
    table = FakeTable(tmp_path / "clicks", version=9)
    table.commit("100", [("p", "f")])
    found = metastore(table.path).tables[CLICKS]
    hudi_eviction.check_idle(found, lambda uri: LocalStorage())
    table.commit("200", [("p", "f")], state="inflight")
    with pytest.raises(ActionFailed, match="written since 200"):
        hudi_eviction.check_idle(found, lambda uri: LocalStorage())


def test_replicas_follow_their_source_and_keep_it_for_the_longest_limit() -> None:
    feed = read_feed()
    assert hudi_eviction.policy_of(POLICY, feed).limit == timedelta(days=30)
    cluster = read_cluster()
    home = TableEviction(cluster, ClusterName("c1"), POLICY)
    table = metastore().tables[CLICKS]
    assert not hudi_eviction.is_replica(table, home)
    assert hudi_eviction.is_replica(table, replace(home, primary=ClusterName("c2")))
    assert hudi_eviction.is_replica(metastore(**{FROM: "src.clicks"}).tables[CLICKS], home)
