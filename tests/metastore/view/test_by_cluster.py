"""DC-A2: every call has a variant that takes the cluster, equal to USE CLUSTER and the call."""

import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conf import write_ids
from conf.placement import Copy
from metastore.client.connection import Connection
from metastore.client.object_spans import Shape
from metastore.client.types import Database, Partition
from metastore.errors import MetastoreRefused
from metastore.view.methods import CLUSTER_FIELD, ON_CLUSTER, Act, MethodSpec, methods
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore, views
from thriftcodec.skip import EACH
from thriftcodec.skip import Path as ValuePath
from thriftcodec.values import LIST, STRING, STRUCT, Items, Struct, strings

IDL = Path(__file__).parents[3] / "metastore" / "idl"
_TEXT = (IDL / "causeway_by_cluster.thrift").read_text()
DECLARED = sorted(re.findall(rf" (\w+){ON_CLUSTER}\(", _TEXT))
CASES = [(name, C2) for name in DECLARED]
CASES += [(name, C1) for name in DECLARED if methods()[name].act is not Act.RELAY]


class Recording(WritableMetastore):
    """Remembers what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, str]] = []

    def answer(self, method: str, arguments: Struct) -> Any:
        self.asked.append((method, repr(arguments)))
        return super().answer(method, arguments)


@pytest.fixture(scope="module")
def hms() -> Iterator[Recording]:
    fake = Recording()
    yield fake
    fake.stop()


@pytest.fixture(scope="module")
def endpoint(hms: Recording) -> Iterator[Any]:
    with views(hms) as listening:
        yield listening["default"]


@pytest.fixture(autouse=True)
def _same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ids, "uuid4", lambda: uuid.UUID(int=7))
    monkeypatch.setattr(time, "time_ns", lambda: 0)


INDEX = ("get_all_databases", "get_all_tables", "get_table_objects_by_name")
"""The calls that read the folders of objects with copies."""


def put(value: Struct, path: ValuePath, kind: int, what: Any) -> None:
    """Sets `what` at the path, making what is on the way."""
    number, rest = path[0], path[1:]
    if not rest:
        value.set(number, kind, what)
    elif rest[0] == EACH:
        if value.get(number) is None:
            value.set(number, LIST, Items(kind if len(rest) == 1 else STRUCT))
        items = value.get(number)
        if len(rest) == 1:
            items.append(what)
            return
        if not items:
            items.append(Struct())
        put(items[0], rest[1:], kind, what)
    else:
        if value.get(number) is None:
            value.set(number, STRUCT, Struct())
        put(value.get(number), rest, kind, what)


def arguments(spec: MethodSpec) -> Struct:
    """Arguments that name the table of these tests wherever the row says that names are."""
    objects: dict[Shape, Struct] = {
        Shape.TABLE: table({"k": "v"}, KEYS).struct,
        Shape.PARTITION: Partition.make(table({}, KEYS), ["1"], HOME, {}).struct,
        Shape.BARE_PARTITION: Struct({1: (LIST, strings(["1"]))}),
        Shape.DATABASE: Database.make("d", "hdfs://c2:8020/warehouse/d").struct,
    }
    made = Struct()
    for place in spec.inbound:
        put(made, place.path, STRUCT, objects[place.shape])
    for path in spec.databases:
        put(made, path, STRING, REF.db)
    for path in spec.tables:
        put(made, path, STRING, REF.name)
    if spec.values:
        put(made, spec.values, LIST, strings(["1"]))
    if spec.partition_name:
        put(made, spec.partition_name, STRING, "ds=1")
    if not made.fields:
        made.set(1, STRING, "default")
    return made


def outcome(hms: Recording, endpoint: Any, before: Struct, method: str, sent: Struct) -> Any:
    """What was asked and what came back, from the same beginning."""
    copies = placed(Copy(C2, AWAY, "0/0"))
    hms.add(table(placed(), KEYS), ("ds=1", copies))
    hms.places = {"default": "hdfs://c1:8020/warehouse"}
    connection = Connection(endpoint, 60.0)
    try:
        if before.fields:
            connection.call("use_cluster", before, {}, 60.0)
        hms.asked.clear()
        plain = method.removesuffix(ON_CLUSTER)
        declared = {number: f"field {number}" for number in range(1, 5)}
        try:
            got = repr(connection.call(method, sent, declared, 60.0))
        except Exception as error:
            got = str(error).replace(method, plain)
    finally:
        connection.close()
    asked = [each for each in hms.asked if each[0] not in INDEX]  # depends on earlier calls
    return asked, got, repr(hms.tables), repr(hms.partitions)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_equals_use_cluster_and_the_call(
    hms: Recording, endpoint: Any, name: str, cluster: str
) -> None:
    spec = methods()[name]
    used = outcome(hms, endpoint, Struct({1: (STRING, cluster)}), name, arguments(spec))
    taken = arguments(spec)
    taken.set(CLUSTER_FIELD, STRING, cluster)
    assert outcome(hms, endpoint, Struct(), name + ON_CLUSTER, taken) == used


def test_the_idl_has_every_call_of_hive_s() -> None:
    assert len(DECLARED) > 150
    assert sorted(name for name, spec in methods().items() if spec.by_cluster) == DECLARED
    assert _TEXT.count(f"{CLUSTER_FIELD}: string cluster") == len(DECLARED)


@pytest.mark.parametrize("name", ["shutdown", "getStatus", "truncate_table", "nothing"])
def test_what_the_idl_does_not_declare_is_refused_by_name(
    hms: Recording, endpoint: Any, name: str
) -> None:
    connection = Connection(endpoint, 60.0)
    hms.asked.clear()
    sent = Struct({CLUSTER_FIELD: (STRING, C2)})
    with pytest.raises(MetastoreRefused, match=f"CW351.*{name}{ON_CLUSTER}"):
        connection.call(name + ON_CLUSTER, sent, {1: "MetaException"}, 60.0)
    connection.close()
    assert hms.asked == []


def test_a_cluster_has_to_be_named(endpoint: Any) -> None:
    connection = Connection(endpoint, 60.0)
    with pytest.raises(MetastoreRefused, match="CW352"):
        connection.call("get_table_on_cluster", Struct({1: (STRING, "d")}), {1: "Meta"}, 60.0)
    connection.close()
