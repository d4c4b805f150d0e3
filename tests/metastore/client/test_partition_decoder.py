"""The quick partition decoder against the tree decoder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.names import TableRef
from metastore.client import partition_scanner
from metastore.client.object_spans import ObjectSpans, Shape, scan
from metastore.client.partition_decoder import PartitionDecoder, PartitionFacts
from metastore.client.types import Partition, Table
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.values import I32, STRING, STRUCT, Struct
from thriftcodec.writer import write_struct

_TEXT = st.text(max_size=12)
# Times have the type i32. What another type holds may be of any length.
_TIMES = st.one_of(
    st.integers(0, 2**31 - 1).map(lambda time: (I32, time)),
    st.text(max_size=4).map(lambda text: (STRING, text)),
)


@st.composite
def _partitions(draw: st.DrawFn) -> list[Partition]:
    table = Table.make(TableRef("db", "t"), draw(st.lists(st.tuples(_TEXT, _TEXT), max_size=3)))
    made = []
    for _ in range(draw(st.integers(1, 5))):
        keys = st.one_of(_TEXT, _TEXT.map(lambda text: f"causeway.{text}"))
        each = Partition.make(
            table,
            draw(st.lists(_TEXT, min_size=1, max_size=2)),
            draw(_TEXT),
            draw(st.dictionaries(keys, _TEXT, max_size=4)),
        )
        if draw(st.booleans()):  # an odd one, as a newer metastore may send it
            each.struct.set(99, STRUCT, Struct({1: (I32, 5)}))
            each.storage.struct.set(98, STRING, draw(_TEXT))
        if draw(st.integers(0, 5)) == 0:
            del each.storage.struct.fields[2]
        if draw(st.booleans()):
            _set_times(each, draw(st.sampled_from([(), (4,), (5,), (4, 5)])), draw(_TIMES))
        made.append(each)
    return made


def _set_times(partition: Partition, fields: tuple[int, ...], value: tuple[int, int | str]) -> None:
    for number in fields:
        partition.struct.set(number, *value)
    partition.struct.fields = dict(sorted(partition.struct.fields.items()))


def _bytes(partitions: list[Partition]) -> bytes:
    out = bytearray()
    for each in partitions:
        write_struct(out, each.struct)
    return bytes(out)


@given(_partitions())
def test_decoded_partitions_equal_those_of_a_complete_decoding(partitions: list[Partition]) -> None:
    data, at, decode = _bytes(partitions), 0, PartitionDecoder()
    for each in partitions:
        facts, at = decode(data, at)
        own = {k: v for k, v in each.parameters.items() if k.startswith("causeway.")}
        assert facts == PartitionFacts(each.values, each.location, own)
    assert at == len(data)


@given(_partitions(), st.data())
def test_a_part_of_the_bytes_is_incomplete(
    partitions: list[Partition], data: st.DataObject
) -> None:
    decode = PartitionDecoder()
    decode(_bytes(partitions[:1]), 0)  # remembers a storage descriptor
    whole = _bytes(partitions[:1])
    with pytest.raises(Incomplete):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))], 0)


def test_partitions_that_differ_in_their_times_are_scanned_field_by_field_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scanned: list[int] = []

    def counted(data: bytes | bytearray, at: int, shape: Shape) -> ObjectSpans:
        scanned.append(at)
        return scan(data, at, shape)

    monkeypatch.setattr(partition_scanner, "scan", counted)
    table = Table.make(TableRef("db", "t"), [("a", "int")])
    partitions = [Partition.make(table, [str(day)], f"file:/t/{day}", {}) for day in range(3)]
    for day, each in enumerate(partitions):
        _set_times(each, (4,), (I32, 100 + day))
        _set_times(each, (5,), (I32, 200 + day))
    data, at, decode = _bytes(partitions), 0, PartitionDecoder()
    for each in partitions:
        facts, at = decode(data, at)
        assert facts.location == each.location
    assert scanned == [0]


@pytest.mark.parametrize("number", [1, 6, 7])
def test_fields_of_another_type_are_refused(number: int) -> None:
    table = Table.make(TableRef("db", "t"), [("a", "int")])
    partition = Partition.make(table, ["1"], "file:/t/1", {})
    partition.struct.set(number, I32, 5)
    with pytest.raises(MalformedMessage):
        PartitionDecoder()(_bytes([partition]), 0)
