"""Locations in the file systems of other clusters, which the view lets no object have."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, write_placement
from conf.topology import Endpoint
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from metastore.errors import MetastoreRefused
from tests.metastore.writable import C1, C2, WritableMetastore, views
from thriftcodec.values import LIST, STRING, STRUCT, Items, Struct

REF = TableRef("default", "t")
KEYS = [("ds", "string")]
OWN, AWAY = "hdfs://c1:8020/warehouse/t", "hdfs://c2:8020/copies/t"
ELSEWHERE = [
    "hdfs://c2:8020/warehouse/x",
    "hdfs://C2/warehouse/x",
    "webhdfs://me@c2.example.:9870/x",
    "hdfs://c2:9000/x",
    "hdfs://c2:8020",
]


@pytest.fixture
def view(hms: WritableMetastore, tmp_path: Path) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms, tmp_path / "left") as listening:
        yield listening


@pytest.fixture
def client(view: Mapping[str, Endpoint]) -> Iterator[HmsClient]:
    """A client of c1's view."""
    with HmsClient((view[C1],), timeout=60.0) as connected:
        yield connected


def table(location: str, path: str = "", keys: list[tuple[str, str]] | None = None) -> Table:
    made = Table.make(REF, [("a", "int")], location=location, partition_keys=keys or [])
    if path:
        made.storage.serde.parameters = {"path": path}
    return made


def stored(hms: WritableMetastore) -> tuple[str, str, str]:
    return repr(hms.tables), repr(hms.partitions), repr(hms.places)


refused = pytest.raises(MetastoreRefused, match=r"CW350.* folder \S+ is c2, .* cluster c1")


@pytest.mark.parametrize("location", ELSEWHERE)
class TestRefused:
    def test_of_a_new_table(self, hms, client, location: str) -> None:
        for made in (table(location), table(OWN, location), table("", location)):
            with refused:
                client.create_table(made)
        assert not hms.tables

    def test_of_a_table_that_is_altered(self, hms, client, location: str) -> None:
        hms.add(Table.make(REF, [("a", "int")], location=OWN))
        before = stored(hms)
        for sent in (table(location), table(OWN, location)):
            with refused:
                client.alter_table(REF, sent)
        assert stored(hms) == before

    def test_of_a_new_partition(self, hms, client, location: str) -> None:
        made = table(OWN, keys=KEYS)
        hms.add(made)
        before = stored(hms)
        with refused:
            client.add_partitions(REF, [Partition.make(made, ["1"], location, {})])
        assert stored(hms) == before

    def test_of_a_partition_that_is_altered(self, hms, client, location: str) -> None:
        made = table(OWN, keys=KEYS)
        hms.add(made, ("ds=1", {}))
        before = stored(hms)
        with refused:
            client.alter_partitions(REF, [Partition.make(made, ["1"], location, {})])
        assert stored(hms) == before

    def test_of_a_database(self, hms, client, location: str) -> None:
        before = stored(hms)
        with refused:
            client.create_database(Database.make("d", location))
        assert stored(hms) == before


@pytest.mark.parametrize(
    "fields",
    [
        {3: (STRING, "hdfs://c2:8020/w")},
        {3: (STRING, OWN), 4: (STRUCT, Struct({2: (STRUCT, Struct({2: (STRING, AWAY)}))}))},
    ],
)
def test_a_specification_of_partitions_is_looked_through(
    hms: WritableMetastore, view: Mapping[str, Endpoint], fields: dict[int, Any]
) -> None:
    hms.add(table(OWN, keys=KEYS))
    spec = Struct({1: (STRING, "default"), 2: (STRING, "t"), **fields})
    with refused:
        call(view[C1], "add_partitions_pspec", {1: (LIST, Items(STRUCT, [spec]))})
    assert hms.calls["add_partitions_pspec"] == 0


def test_a_database_in_a_chosen_folder_is_dropped_where_that_is(
    hms: WritableMetastore, view: Mapping[str, Endpoint]
) -> None:
    """The metastore deletes it in c1, where the folder may have tables of c1."""
    with HmsClient((view[C2],), timeout=60.0) as other:
        other.create_database(Database.make("chosen", "hdfs://c2:8020/warehouse/t"))
        other.create_database(Database.make("plain", "hdfs://c2:8020/warehouse/plain.db"))
        assert hms.places["chosen"] == "hdfs://c1:8020/warehouse/t"
        other.drop_database("plain", delete_data=True)
        with pytest.raises(MetastoreRefused, match=r"CW350.* is c1, .* cluster c2"):
            other.drop_database("chosen", delete_data=True)
        assert list(hms.places) == ["default", "chosen"]
    with HmsClient((view[C1],), timeout=60.0) as own:
        own.drop_database("chosen", delete_data=True)
    assert list(hms.places) == ["default"]


def call(endpoint: Endpoint, method: str, fields: dict[int, Any]) -> Any:
    connection = Connection(endpoint, 60.0)
    try:
        return connection.call(method, Struct(fields), {3: "MetaException"}, 60.0)
    finally:
        connection.close()


@pytest.mark.parametrize("location", ["s3a://c2/x", "hdfs:///x", "/x", "hdfs://c22/x", OWN])
def test_other_locations_pass(hms: WritableMetastore, client: HmsClient, location: str) -> None:
    client.create_table(table(location))
    assert Table(hms.tables[REF]).location == location


def test_an_object_that_is_in_such_a_folder_may_stay(hms: WritableMetastore, client) -> None:
    """Only `causeway table assign` can make that: c1's table in a folder of c2."""
    made = table(AWAY, keys=KEYS)
    made.parameters = write_placement(Placement(C1))
    hms.add(made, ("ds=1", {}))
    client.alter_table(REF, table(AWAY, keys=KEYS))
    client.alter_partitions(REF, [Partition.make(made, ["1"], f"{AWAY}/ds=1", {})])
    client.add_partitions(REF, [Partition.make(made, ["2"], f"{AWAY}/ds=2", {})])
    with refused:
        client.add_partitions(REF, [Partition.make(made, ["3"], f"{AWAY}/../u/ds=3", {})])
    with refused:
        client.add_partitions(REF, [Partition.make(made, ["3"], f"{AWAY}/%2e%2e/u/ds=3", {})])


def test_the_location_of_a_copy_is_taken_back(hms: WritableMetastore, view) -> None:
    """A client of c2 that alters what it was shown has the copy's location in its hands."""
    made = table(OWN)
    made.parameters = write_placement(Placement(C1, copies=(Copy(C2, AWAY, "0"),)))
    hms.add(made)
    with HmsClient((view[C1],), timeout=60.0) as client:
        client.alter_table(REF, table(AWAY))
    assert Table(hms.tables[REF]).location == OWN
