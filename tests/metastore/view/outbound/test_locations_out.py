"""Replies in pieces: whatever the pieces, the bytes sent on are the same."""

import json
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, write_placement
from conf.topology import Cluster, Topology
from metastore.client.object_spans import Shape, encoded, scan, spliced
from metastore.client.types import Partition, Table
from metastore.view.call import Call
from metastore.view.fact_edits import HIDDEN_FACTS, with_facts
from metastore.view.locations import ClusterView
from metastore.view.methods import methods
from metastore.view.outbound.locations_out import PartitionsOf, ReplyStream
from metastore.view.outbound.partition_specs import SpecStream
from thriftcodec.errors import MalformedMessage
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import (
    BOOL,
    I64,
    LIST,
    REPLY,
    STRING,
    STRUCT,
    VERSION_1,
    Items,
    Struct,
    strings,
)
from thriftcodec.writer import call_bytes

C1, C2 = ClusterName("c1"), ClusterName("c2")
TOPOLOGY = Topology({name: Cluster(name, f"hdfs://{name}", ()) for name in (C1, C2)}, default=C1)
REF = TableRef("d", "t")
KEYS = [("ds", "string")]


FACTS = write_placement(Placement(C1, copies=(Copy(C2, "hdfs://c2/x", "0"),)))


def without_facts(message: bytes) -> bytes:
    """A reply with the partitions of `partitions`, without the parameters that are facts."""
    for number in range(20):
        copies = (Copy(C2, f"hdfs://c2/copy/{number}", "0/0"),) if number % 3 == 0 else ()
        facts = write_placement(Placement(C1, copies=copies))
        entries = [encoded("rows") + encoded(str(number))]
        entries += [encoded(key) + encoded(value) for key, value in facts.items()]
        before = len(entries).to_bytes(4, "big") + b"".join(entries)
        message = message.replace(before, (1).to_bytes(4, "big") + entries[0])
    return message


def reply(method: str, result: Struct) -> bytes:
    message = bytearray(call_bytes(method, 7, result))
    message[:4] = (VERSION_1 | REPLY).to_bytes(4, "big")
    return bytes(message)


def partitions(count: int) -> Items:
    table = Table.make(REF, [("a", "int"), ("b", "string")], partition_keys=KEYS)
    made = []
    for number in range(count):
        copies = (Copy(C2, f"hdfs://c2/copy/{number}", "0/0"),) if number % 3 == 0 else ()
        parameters = {"rows": str(number), **write_placement(Placement(C1, copies=copies))}
        one = Partition.make(table, [f"é{number}"], f"hdfs://c1/t/{number}", parameters)
        if number % 4 == 0:
            one.storage.struct.set(55, STRING, "unknown")
        made.append(one.struct)
    return Items(STRUCT, made)


def stream(method: str, aware: bool = False) -> ReplyStream:
    view = ClusterView(C2, TOPOLOGY, aware)
    return ReplyStream(methods()[method].outbound, view, PartitionsOf(Placement(C1), ("ds",)))


MESSAGES = {
    "get_partitions": reply("get_partitions", Struct({0: (LIST, partitions(7))})),
    "get_partitions_by_expr": reply(
        "get_partitions_by_expr",
        Struct({0: (STRUCT, Struct({1: (LIST, partitions(3)), 2: (BOOL, 0)}))}),
    ),
    "get_partitions_pspec": reply(
        "get_partitions_pspec",
        Struct(
            {
                0: (
                    LIST,
                    Items(
                        STRUCT,
                        [
                            Struct(
                                {1: (STRING, "d"), 5: (STRUCT, Struct({1: (LIST, partitions(4))}))}
                            ),
                            Struct({1: (STRING, "d"), 4: (STRUCT, Struct())}),
                        ],
                    ),
                )
            }
        ),
    ),
    "get_partition_names": reply(
        "get_partition_names", Struct({0: (LIST, strings(f"ds={n}" for n in range(50)))})
    ),
    "get_table": reply("get_table", Struct({2: (STRUCT, Struct({1: (STRING, "no such table")}))})),
    "heartbeat": reply("heartbeat", Struct()),
    "get_current_notificationEventId": reply(
        "get_current_notificationEventId", Struct({0: (STRUCT, Struct({1: (I64, 5)}))})
    ),
}


@pytest.mark.parametrize("aware", [False, True])
@pytest.mark.parametrize("method", MESSAGES)
@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 10_000), max_size=12))
def test_pieces_make_no_difference(method: str, aware: bool, cuts: list[int]) -> None:
    message = MESSAGES[method]
    whole = stream(method, aware).feed(message)
    pieces = stream(method, aware)
    sent = b""
    marks = sorted({min(cut, len(message)) for cut in cuts} | {0, len(message)})
    for start, end in pairwise(marks):
        assert not pieces.done
        sent += pieces.feed(message[start:end])
    assert pieces.done
    assert sent == whole


def test_byte_by_byte() -> None:
    message = MESSAGES["get_partitions"]
    pieces = stream("get_partitions")
    sent = b"".join(pieces.feed(message[at : at + 1]) for at in range(len(message)))
    assert sent == stream("get_partitions").feed(message)


@pytest.mark.parametrize("count", [0, 4])
def test_a_list_of_partitions_becomes_one_spec_byte_by_byte(count: int) -> None:
    sent = call_bytes("get_partitions_pspec", 7, Struct({1: (STRING, "D"), 2: (STRING, "T")}))
    asked = Call(methods()["get_partitions_pspec"], 7, sent, read_message_header(sent)[3])
    message = reply("get_partitions", Struct({0: (LIST, partitions(count))}))
    table = PartitionsOf(Placement(C1), ("ds",))
    pieces = SpecStream(asked, ClusterView(C2, TOPOLOGY), table, "hdfs://c1/t")
    got = b"".join(pieces.feed(message[at : at + 1]) for at in range(len(message)))
    result, end = read_struct(got, read_message_header(got)[3])
    assert end == len(got)
    (spec,) = result.get(0)
    assert [spec.get(number) for number in (1, 2, 3)] == ["D", "T", "hdfs://c1/t"]
    listed = read_struct(stream("get_partitions").feed(message), read_message_header(message)[3])[0]
    assert spec.get(5).get(1) == listed.get(0)


def test_every_third_has_its_copy_and_nothing_else_changed() -> None:
    message = MESSAGES["get_partitions"]
    sent = stream("get_partitions").feed(message)
    for number in range(0, 7, 3):
        was, now = f"hdfs://c1/t/{number}".encode(), f"hdfs://c2/copy/{number}".encode()
        before = len(was).to_bytes(4, "big") + was
        message = message.replace(before, len(now).to_bytes(4, "big") + now, 1)
    assert sent == without_facts(message)


def test_what_needs_no_change_is_the_same_bytes() -> None:
    for method in ("get_partition_names", "get_table", "heartbeat"):
        assert stream(method).feed(MESSAGES[method]) == MESSAGES[method]


def test_failures_differ_from_successes() -> None:
    for method in MESSAGES:
        whole = stream(method)
        whole.feed(MESSAGES[method])
        assert whole.failed == (method == "get_table")


def test_without_the_table_partitions_keep_their_primary_s_place() -> None:
    view = ClusterView(C2, TOPOLOGY)
    message = MESSAGES["get_partitions"]
    sent = ReplyStream(methods()["get_partitions"].outbound, view).feed(message)
    assert sent == without_facts(message)


def test_a_reader_that_names_a_cluster_sees_the_facts() -> None:
    sent = stream("get_partitions", aware=True).feed(MESSAGES["get_partitions"])
    first = read_struct(sent, read_message_header(sent)[3])[0].get(0)[0]
    assert Partition(first).parameters.keys() == {"rows", *FACTS}


@pytest.mark.parametrize("kind", ["MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"])
@pytest.mark.parametrize("text", [None, "", "SELECT 1"])
@pytest.mark.parametrize("keys", [[], KEYS])
@pytest.mark.parametrize("facts", [{}, FACTS])
def test_a_table_s_facts_move_to_its_view_text_and_back(
    kind: str, text: str | None, keys: list[tuple[str, str]], facts: dict[str, str]
) -> None:
    made = Table.make(REF, [("a", "int")], parameters={"k": "é", **facts}, partition_keys=keys)
    made.set_text(12, kind)
    if text is not None:
        made.set_text(10, text)
    sent = stream("get_table").feed(reply("get_table", Struct({0: (STRUCT, made.struct)})))
    read = Table(read_struct(sent, read_message_header(sent)[3])[0].get(0))
    assert read.parameters == {"k": "é"}
    hidden = read.struct.get(10)
    if kind == "VIRTUAL_VIEW" or not (keys or facts):
        assert hidden == text
    else:
        assert json.loads(hidden.removeprefix(HIDDEN_FACTS)) == facts
    asked = call_bytes("alter_table", 0, Struct({3: (STRUCT, read.struct)}))
    at = read_message_header(asked)[3] + 3
    found = scan(asked, at, Shape.TABLE)
    edited = spliced(asked, 0, len(asked), with_facts(asked, found, Shape.TABLE, facts))
    kept = Table(read_struct(edited, read_message_header(edited)[3])[0].get(3))
    assert kept.parameters == made.parameters
    assert kept.struct.get(10) == (None if hidden != text else text)


def test_bytes_after_a_reply_are_detected() -> None:
    one = stream("heartbeat")
    one.feed(MESSAGES["heartbeat"] + b"x")
    assert one.surplus


@settings(deadline=None)
@given(noise=st.binary(max_size=200), at=st.integers(0, 400))
def test_noise_gives_bytes_or_a_named_error(noise: bytes, at: int) -> None:
    message = MESSAGES["get_partitions"]
    broken = message[:at] + noise + message[at + len(noise) :]
    with suppress(CausewayError, MalformedMessage):
        stream("get_partitions", aware=True).feed(broken)


def test_the_structures_can_be_read_by_a_generated_client() -> None:
    sent = stream("get_partitions", aware=True).feed(MESSAGES["get_partitions"])
    _, _, _, body = read_message_header(sent)
    result, _ = read_struct(sent, body)
    first = Partition(result.get(0)[0])
    assert first.location == "hdfs://c2/copy/0"
    assert first.storage.struct.get(101).get(2) == "hdfs://c1/t/0"
    assert [each.get(1) for each in first.storage.struct.get(102)] == [C2]
