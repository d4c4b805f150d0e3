"""Decoded trees are written back unchanged, and truncated bytes are incomplete."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.reader import read_struct, read_value
from thriftcodec.skip import read_message_header, skip_value
from thriftcodec.values import (
    BOOL,
    BYTE,
    CALL,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STRING,
    STRUCT,
    Items,
    Pairs,
    Struct,
)
from thriftcodec.writer import call_bytes, write_value

_SCALARS = {
    BOOL: st.sampled_from([0, 1]),
    BYTE: st.integers(-128, 127),
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1),
    DOUBLE: st.floats(allow_nan=False),
    STRING: st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")),
}


def _values(depth: int) -> st.SearchStrategy[tuple[int, object]]:
    scalars = st.one_of(*(st.tuples(st.just(kind), values) for kind, values in _SCALARS.items()))
    if depth == 0:
        return scalars
    inner = _values(depth - 1)
    structs = st.dictionaries(st.integers(1, 30), inner, max_size=4).map(
        lambda fields: (STRUCT, Struct(fields))
    )
    lists = st.lists(_SCALARS[STRING], max_size=4).map(lambda items: (LIST, Items(STRING, items)))
    sets = st.lists(structs, max_size=3).map(
        lambda items: (SET, Items(STRUCT, [value for _, value in items]))
    )
    maps = st.dictionaries(_SCALARS[I64], structs, max_size=3).map(
        lambda pairs: (
            MAP,
            Pairs(I64, STRUCT, [(key, value) for key, (_, value) in pairs.items()]),
        )
    )
    return st.one_of(scalars, structs, lists, sets, maps)


@given(_values(3))
def test_values_are_read_and_written_back_unchanged(typed: tuple[int, object]) -> None:
    kind, value = typed
    out = bytearray()
    write_value(out, kind, value)
    back, end = read_value(out, 0, kind)
    again = bytearray()
    write_value(again, kind, back)
    assert (back, end, again) == (value, len(out), out)
    assert skip_value(out, 0, kind) == len(out)


@given(_values(2), st.data())
def test_truncated_values_are_incomplete(typed: tuple[int, object], data: st.DataObject) -> None:
    kind, value = typed
    out = bytearray()
    write_value(out, kind, value)
    cut = data.draw(st.integers(0, len(out) - 1))
    with pytest.raises(Incomplete):
        read_value(out[:cut], 0, kind)
    with pytest.raises(Incomplete):
        skip_value(out[:cut], 0, kind)


@given(st.binary(max_size=200), st.sampled_from([11, 12, 13, 14, 15]))
def test_any_bytes_are_a_value_or_one_of_two_errors(raw: bytes, kind: int) -> None:
    for read in (read_value, skip_value):
        with suppress(Incomplete, MalformedMessage):
            read(raw, 0, kind)


def test_nesting_is_bounded() -> None:
    deep = bytes([STRUCT, 0, 1]) * 1000
    with pytest.raises(MalformedMessage):
        read_struct(deep, 0)
    with pytest.raises(MalformedMessage):
        skip_value(deep, 0, STRUCT)


def test_a_name_of_any_bytes_is_written_back() -> None:
    message = call_bytes("get", 7, Struct()).replace(b"get", b"g\xffg")
    name = read_message_header(message)[1]
    assert call_bytes(name, 7, Struct()) == message


def test_a_call_is_read_back() -> None:
    arguments = Struct({1: (STRING, "db")})
    message = call_bytes("get_table", 7, arguments)
    kind, name, sequence, at = read_message_header(message)
    assert (kind, name, sequence) == (CALL, "get_table", 7)
    assert read_struct(message, at) == (arguments, len(message))


def test_an_old_style_message_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_message_header(b"\x00\x00\x00\x09get_table\x01\x00\x00\x00\x00")
