"""The number of rows in a reply, read from its first bytes."""

import pytest

from proxy.errors import Failure
from proxy.protocol import replies, results
from proxy.protocol.row_count import rows_in
from thriftcodec.values import BOOL, I64, LIST, STRING, STRUCT, Items, Struct


def reply(result: Struct, seqid: int = 7) -> bytes:
    return replies.reply("FetchResults", seqid, result)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 300, 70_000])
@pytest.mark.parametrize("protocol", [0, 10])
def test_rows_are_counted_in_both_layouts(count: int, protocol: int) -> None:
    table = results.ResultTable(("a", "b"), tuple(("x", None) for _ in range(count)))
    data = reply(results.fetch_reply(table, 0, count, protocol))
    assert rows_in(data[:512]) == count


def test_a_reply_without_columns_has_no_rows() -> None:
    row_set = Struct({1: (I64, 0), 2: (LIST, Items(STRUCT, [])), 3: (LIST, Items(STRUCT, []))})
    body = Struct({**replies.succeeded().fields, 2: (BOOL, False), 3: (STRUCT, row_set)})
    assert rows_in(reply(body)) == 0
    del row_set.fields[3]
    assert rows_in(reply(body)) == 0


def test_unknown_layouts_are_not_counted() -> None:
    assert rows_in(b"") is None
    assert rows_in(reply(replies.failed(Failure("no")))) is None
    row_set = Struct({1: (I64, 0), 2: (LIST, Items(STRING, [b"x"]))})
    assert rows_in(reply(Struct({**replies.succeeded().fields, 3: (STRUCT, row_set)}))) is None
