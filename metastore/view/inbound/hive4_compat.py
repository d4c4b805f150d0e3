"""Replaces calls that Hive 4's metastore does not have any more.

Older clients and the view itself call `get_table` and `get_table_objects_by_name`. Since Hive 2.3
each also has a newer form, `.._req`, with one request and one result. Hive 4 has only this form.
"""

from metastore.client.object_spans import places
from metastore.view.outbound.replies import renamed
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header, skip_value
from thriftcodec.values import EXCEPTION, REPLY, STRUCT, UNKNOWN_METHOD_CODE, Struct
from thriftcodec.writer import call_bytes

NEWER = {"get_table": "get_table_req", "get_table_objects_by_name": "get_table_objects_by_name_req"}


def is_unknown(reply: bytes) -> bool:
    """Whether the reply says that the metastore does not have the call."""
    kind, _, _, at = read_message_header(reply)
    return kind == EXCEPTION and read_struct(reply, at)[0].get(2) == UNKNOWN_METHOD_CODE


def newer_call(request: bytes) -> bytes:
    """The same call in the newer form. The arguments of both calls, a database and tables, have the
    same fields as the request."""
    _, name, sequence, at = read_message_header(request)
    arguments, _ = read_struct(request, at)
    return call_bytes(NEWER[name], sequence, Struct({1: (STRUCT, arguments)}))


def older_reply(reply: bytes, name: str) -> bytes:
    """The reply to a newer form as a reply to `name`. Both declare the same exceptions."""
    reply = renamed(reply, name)
    kind, _, _, at = read_message_header(reply)
    if kind != REPLY:
        return reply
    for start, inner in places(reply, at, (0, 1)):
        value = reply[start : skip_value(reply, start, inner)]
        return reply[:at] + bytes((inner, 0, 0)) + value + b"\0"
    return reply
