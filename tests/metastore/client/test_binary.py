"""Trees and bytes: what is read is written back the same, and cut bytes only ask for more."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.client import binary
from metastore.client.binary import Incomplete, Items, Malformed, Pairs, Struct

_SCALARS = {
    binary.BOOL: st.sampled_from([0, 1]),
    binary.BYTE: st.integers(-128, 127),
    binary.I16: st.integers(-(2**15), 2**15 - 1),
    binary.I32: st.integers(-(2**31), 2**31 - 1),
    binary.I64: st.integers(-(2**63), 2**63 - 1),
    binary.DOUBLE: st.floats(allow_nan=False),
    binary.STRING: st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")),
}


def _values(depth: int) -> st.SearchStrategy[tuple[int, object]]:
    scalars = st.one_of(*(st.tuples(st.just(kind), values) for kind, values in _SCALARS.items()))
    if depth == 0:
        return scalars
    inner = _values(depth - 1)
    structs = st.dictionaries(st.integers(1, 30), inner, max_size=4).map(
        lambda fields: (binary.STRUCT, Struct(fields))
    )
    lists = st.lists(_SCALARS[binary.STRING], max_size=4).map(
        lambda items: (binary.LIST, Items(binary.STRING, items))
    )
    sets = st.lists(structs, max_size=3).map(
        lambda items: (binary.SET, Items(binary.STRUCT, [value for _, value in items]))
    )
    maps = st.dictionaries(_SCALARS[binary.I64], structs, max_size=3).map(
        lambda pairs: (
            binary.MAP,
            Pairs(binary.I64, binary.STRUCT, [(key, value) for key, (_, value) in pairs.items()]),
        )
    )
    return st.one_of(scalars, structs, lists, sets, maps)


@given(_values(3))
def test_what_is_written_is_read_and_written_the_same(typed: tuple[int, object]) -> None:
    kind, value = typed
    out = bytearray()
    binary.write_value(out, kind, value)
    back, end = binary.read_value(out, 0, kind)
    again = bytearray()
    binary.write_value(again, kind, back)
    assert (back, end, again) == (value, len(out), out)
    assert binary.skip_value(out, 0, kind) == len(out)


@given(_values(2), st.data())
def test_cut_bytes_ask_for_more(typed: tuple[int, object], data: st.DataObject) -> None:
    kind, value = typed
    out = bytearray()
    binary.write_value(out, kind, value)
    cut = data.draw(st.integers(0, len(out) - 1))
    with pytest.raises(Incomplete):
        binary.read_value(out[:cut], 0, kind)
    with pytest.raises(Incomplete):
        binary.skip_value(out[:cut], 0, kind)


@given(st.binary(max_size=200), st.sampled_from([11, 12, 13, 14, 15]))
def test_any_bytes_are_a_value_or_one_of_two_errors(raw: bytes, kind: int) -> None:
    for read in (binary.read_value, binary.skip_value):
        with suppress(Incomplete, Malformed):
            read(raw, 0, kind)


def test_nesting_is_bounded() -> None:
    deep = bytes([binary.STRUCT, 0, 1]) * 1000
    with pytest.raises(Malformed):
        binary.read_struct(deep, 0)
    with pytest.raises(Malformed):
        binary.skip_value(deep, 0, binary.STRUCT)


def test_a_name_of_any_bytes_is_written_back() -> None:
    message = binary.call_bytes("get", 7, Struct()).replace(b"get", b"g\xffg")
    name = binary.read_message_header(message)[1]
    assert binary.call_bytes(name, 7, Struct()) == message


def test_a_call_is_read_back() -> None:
    arguments = Struct({1: (binary.STRING, "db")})
    message = binary.call_bytes("get_table", 7, arguments)
    kind, name, sequence, at = binary.read_message_header(message)
    assert (kind, name, sequence) == (binary.CALL, "get_table", 7)
    assert binary.read_struct(message, at) == (arguments, len(message))


def test_an_old_style_message_is_refused() -> None:
    with pytest.raises(Malformed):
        binary.read_message_header(b"\x00\x00\x00\x09get_table\x01\x00\x00\x00\x00")
