"""Clients generated from Hive's own IDL, before and after 3.0, through the views (DC-S2, DC-A1)."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from types import ModuleType
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from conf.names import TableRef
from conf.placement import Copy, read_placement
from conf.topology import Cluster, Endpoint, Topology
from metastore.placement.placement_store import PlacementStore
from tests.e2e.support.metastores import C1, C2, C3, MetastoreAlone, MetastoreElsewhere
from tests.metastore.writable import views

pytestmark = pytest.mark.e2e
_numbers = count(1)


@pytest.fixture(scope="module")
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> MetastoreAlone:
    """The embedded metastore, or that at CAUSEWAY_TEST_METASTORE (HOST:PORT)."""
    if "CAUSEWAY_TEST_METASTORE" in os.environ:
        return MetastoreElsewhere(tmp_path_factory.mktemp("metastore"))
    alone: MetastoreAlone = request.getfixturevalue("alone")
    return alone


@pytest.fixture(scope="module")
def topology(real: MetastoreAlone) -> Topology:
    clusters = {name: Cluster(name, real.layout.filesystem(name), ()) for name in (C1, C2, C3)}
    return Topology(clusters, default=C1)


@pytest.fixture(scope="module")
def view(real: MetastoreAlone, topology: Topology) -> Iterator[Mapping[str, Endpoint]]:
    with views(real, topology=topology) as listening:
        yield listening


@pytest.fixture(params=["hmsclient.genthrift.hive_metastore", "pymetastore.hive_metastore"])
def stub(request: pytest.FixtureRequest) -> ModuleType:
    """PyPI's hmsclient has Hive 2.3's IDL, pymetastore one after 3.0."""
    service: ModuleType = pytest.importorskip(f"{request.param}.ThriftHiveMetastore")
    return service


@contextmanager
def connected(
    stub: ModuleType, endpoint: Endpoint, protocol: Any = TBinaryProtocol
) -> Iterator[Any]:
    transport = TBufferedTransport(TSocket(endpoint.host, endpoint.port))
    transport.open()
    try:
        yield stub.Client(protocol(transport))
    finally:
        transport.close()


def new_table(stub: ModuleType, db: str, name: str, partitioned: bool = False) -> Any:
    types = types_of(stub)
    package = "org.apache.hadoop.hive"
    serde = types.SerDeInfo(
        serializationLib=f"{package}.serde2.lazy.LazySimpleSerDe", parameters={}
    )
    storage = types.StorageDescriptor(
        cols=[types.FieldSchema("a", "int", "")],
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat=f"{package}.ql.io.HiveIgnoreKeyTextOutputFormat",
        serdeInfo=serde,
        bucketCols=[],
        sortCols=[],
        numBuckets=-1,
        parameters={},
        compressed=False,
    )
    keys = [types.FieldSchema("ds", "string", "")] if partitioned else []
    return types.Table(
        tableName=name,
        dbName=db,
        owner="x",
        sd=storage,
        partitionKeys=keys,
        parameters={},
        tableType="MANAGED_TABLE",
        createTime=0,
        lastAccessTime=0,
        retention=0,
    )


def primary(real: MetastoreAlone, db: str, table: str) -> str:
    """The primary that the metastore has; the views hide it."""
    with real.client() as client:
        return client.get_table(TableRef(db, table)).parameters["causeway.primary"]


def types_of(stub: ModuleType) -> Any:
    return import_module(stub.__name__.rpartition(".")[0] + ".ttypes")


@pytest.fixture
def db(real: MetastoreAlone, view: Mapping[str, Endpoint], stub: ModuleType) -> str:
    name = f"d{next(_numbers)}"
    place = f"{real.layout.filesystem(C2)}/{name}.db"
    with connected(stub, view[C2]) as client:
        types = types_of(stub)
        client.create_database(types.Database(name=name, locationUri=place, parameters={}))
        got = client.get_database(name).locationUri
        assert got.replace("file:///", "file:/") == place.replace("file:///", "file:/")
    return name


@pytest.mark.parametrize("protocol", [TBinaryProtocol, TBinaryProtocolAccelerated])
def test_a_table_s_life(
    real: MetastoreAlone, view: Mapping[str, Endpoint], stub: ModuleType, db: str, protocol: Any
) -> None:
    types = types_of(stub)
    with connected(stub, view[C2], protocol) as two, connected(stub, view["default"]) as one:
        two.create_table(new_table(stub, db, "t"))
        got = two.get_table(db, "t")
        assert f"/{C2}/{db}.db/t" in got.sd.location
        assert got == one.get_table(db, "t")
        with pytest.raises(types.MetaException, match="CW350"):
            one.drop_table(db, "t", True)
        got.parameters = {"mine": "x"}  # as an old client sends it, without our facts
        two.alter_table(db, "t", got)
        again = two.get_table(db, "t")
        assert again.parameters["mine"] == "x"
        assert primary(real, db, "t") == C2
        again.tableName = "u"
        two.alter_table(db, "t", again)
        assert primary(real, db, "u") == C2
        two.drop_table(db, "u", True)
        with pytest.raises(types.NoSuchObjectException):
            one.get_table(db, "u")


def test_copies_are_handed_out_and_kept(
    real: MetastoreAlone, view: Mapping[str, Endpoint], stub: ModuleType, db: str
) -> None:
    types = types_of(stub)
    with connected(stub, view[C1]) as one, connected(stub, view[C2]) as two:
        one.create_table(new_table(stub, db, "p", partitioned=True))
        table = one.get_table(db, "p")
        for value in ("1", "2"):
            storage = types.StorageDescriptor(**vars(table.sd))
            storage.location = f"{table.sd.location}/ds={value}"
            one.add_partition(
                types.Partition([value], db, "p", 0, 0, storage, {"causeway.primary": C3})
            )
        ref, away = TableRef(db, "p"), f"{real.layout.filesystem(C2)}/copies/1"
        with real.client() as client:
            facts = PlacementStore(client, C1)
            facts.change_partitions(
                ref, ["ds=1"], lambda _, old: old.with_copy(Copy(C2, away, old.version))
            )
        places = [each.sd.location for each in two.get_partitions(db, "p", -1)]
        assert [place == away for place in places] == [True, False]
        assert two.get_partition(db, "p", ["1"]).sd.location == away
        assert two.get_partitions_by_filter(db, "p", "ds = '1'", -1)[0].sd.location == away
        assert two.get_partition_by_name(db, "p", "ds=1").sd.location == away
        for specs in (
            two.get_partitions_pspec(db, "p", -1),
            two.get_part_specs_by_filter(db, "p", "ds > '0'", -1),
        ):
            listed = [part.sd.location for each in specs for part in each.partitionList.partitions]
            assert listed == places
        assert away not in [each.sd.location for each in one.get_partitions(db, "p", -1)]
        with pytest.raises(types.MetaException, match="CW350"):
            two.drop_partition(db, "p", ["1"], True)
        part = one.get_partition(db, "p", ["1"])
        part.parameters = {}
        one.alter_partition(db, "p", part)  # an old client wipes all parameters; the facts stay
        with real.client() as client:
            stored = next(client.get_partitions(ref, ["ds=1"])).parameters
        assert [copy.cluster for copy in read_placement(stored, C1).copies] == [C2]
        assert two.get_partition(db, "p", ["1"]).sd.location != away  # stale now
        one.drop_partition(db, "p", ["1"], True)
        assert one.get_partition_names(db, "p", -1) == ["ds=2"]
        one.drop_table(db, "p", True)


def test_the_default_endpoint_acts_as_the_default_cluster(
    real: MetastoreAlone, view: Mapping[str, Endpoint], stub: ModuleType, db: str
) -> None:
    with connected(stub, view["default"]) as one:
        one.create_table(new_table(stub, db, "t"))
        assert primary(real, db, "t") == C1
        assert "t" in one.get_all_tables(db)
        one.drop_database(db, True, True)
