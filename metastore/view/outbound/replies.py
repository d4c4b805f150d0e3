"""Replies that the view makes itself."""

from metastore.client.types import Changes
from metastore.view.methods import MethodSpec
from thriftcodec.values import (
    EXCEPTION,
    I32,
    I64,
    INTERNAL_ERROR_CODE,
    LIST,
    REPLY,
    STRING,
    STRUCT,
    UNKNOWN_METHOD_CODE,
    Message,
    Struct,
    strings,
)
from thriftcodec.writer import encode_message


def refusal(spec: MethodSpec, name: str, sequence: int, message: str) -> bytes:
    """A MetaException with the message, or the protocol's error if the call declares none."""
    if spec.meta_exception is None:
        return _protocol_error(name, sequence, message, INTERNAL_ERROR_CODE)
    exception = Struct({1: (STRING, message)})
    return _message(REPLY, name, sequence, Struct({spec.meta_exception: (STRUCT, exception)}))


def unknown_method(name: str, sequence: int, message: str) -> bytes:
    """The protocol's error for a call that this view does not have."""
    return _protocol_error(name, sequence, message, UNKNOWN_METHOD_CODE)


def internal_error(name: str, sequence: int, message: str) -> bytes:
    """The protocol's error for a call that this view has and refuses to carry out."""
    return _protocol_error(name, sequence, message, INTERNAL_ERROR_CODE)


def nothing(name: str, sequence: int) -> bytes:
    """The result of a call without a result value."""
    return _message(REPLY, name, sequence, Struct())


def one_text(name: str, sequence: int, text: str) -> bytes:
    """The result of a call that returns a text."""
    return _message(REPLY, name, sequence, Struct({0: (STRING, text)}))


def one_number(name: str, sequence: int, number: int) -> bytes:
    """The result of a call that returns an i64."""
    return _message(REPLY, name, sequence, Struct({0: (I64, number)}))


def changes(name: str, sequence: int, changes: Changes) -> bytes:
    """The result of causeway_changes and causeway_touched."""
    fields = {
        1: (I64, changes.position),
        2: (LIST, strings(changes.tables)),
        3: (2, int(changes.everything)),
        4: (STRING, changes.feed),
    }
    return _message(REPLY, name, sequence, Struct({0: (STRUCT, Struct(fields))}))


def _protocol_error(name: str, sequence: int, message: str, kind: int) -> bytes:
    return _message(EXCEPTION, name, sequence, Struct({1: (STRING, message), 2: (I32, kind)}))


def _message(kind: int, name: str, sequence: int, body: Struct) -> bytes:
    return encode_message(Message(name, kind, sequence, body))
