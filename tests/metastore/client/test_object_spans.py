"""The fields that name an object or its owner are listed once."""

import pytest

from conf.names import TableRef
from metastore.client.types import Table
from metastore.view.call import Call
from metastore.view.methods import methods
from thriftcodec.errors import MalformedMessage
from thriftcodec.skip import read_message_header
from thriftcodec.values import STRING, STRUCT, Struct
from thriftcodec.writer import call_bytes


def call(method: str, *arguments: bytes) -> Call:
    """Each of the arguments is one or more fields."""
    head = call_bytes(method, 1, Struct())[:-1]
    data = head + b"".join(arguments) + b"\0"
    return Call(methods()[method], 1, data, read_message_header(data)[3])


def fields(struct: Struct) -> bytes:
    data = call_bytes("", 0, struct)
    return data[read_message_header(data)[3] : -1]


def test_a_repeated_database_is_refused() -> None:
    first, second = (fields(Struct({1: (STRING, name)})) for name in ("mine", "theirs"))
    table = fields(Struct({2: (STRING, "t")}))
    assert call("drop_table", first, table).tables() == (TableRef("mine", "t"),)
    with pytest.raises(MalformedMessage):
        call("drop_table", first, table, second).tables()


@pytest.mark.parametrize("twice", [7, 9])
def test_repeated_parameters_and_descriptors_are_refused(twice: int) -> None:
    struct = Table.make(TableRef("d", "t"), [("a", "int")], parameters={"a": "b"}).struct
    again = Struct({twice: struct.fields[twice]})
    one = fields(Struct({1: (STRUCT, struct)}))
    for sent, refused in ((one, False), (one[:-1] + fields(again) + b"\0", True)):
        asked = call("create_table", sent)
        if refused:
            with pytest.raises(MalformedMessage):
                list(asked.objects_at(asked.spec.inbound[0]))
        else:
            assert len(list(asked.objects_at(asked.spec.inbound[0]))) == 1
