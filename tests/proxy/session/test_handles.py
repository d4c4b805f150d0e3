"""Handles are bound to users."""

import pytest

from proxy.errors import LimitReached
from proxy.protocol.requests import Handle
from proxy.session.handles import Registry, new_handle, no_such_operation, no_such_session


def test_only_its_owner_with_both_halves_finds_an_item() -> None:
    registry: Registry[str] = Registry("sessions", 10)
    handle = new_handle()
    registry.add(handle, "ann", "item")
    assert registry.find(handle, "ann") == "item"
    assert registry.find(handle, "bob") is None
    assert registry.find(Handle(handle.guid, new_handle().secret), "ann") is None
    assert registry.find(new_handle(), "ann") is None
    registry.remove(handle)
    registry.remove(handle)
    assert registry.find(handle, "ann") is None
    assert len(registry) == 0


def test_a_users_items_are_counted() -> None:
    registry: Registry[int] = Registry("sessions", 2)
    handles = [new_handle() for _ in range(3)]
    registry.add(handles[0], "ann", 0)
    registry.add(handles[1], "ann", 1)
    with pytest.raises(LimitReached, match="ann has 2 sessions open"):
        registry.add(handles[2], "ann", 2)
    registry.add(handles[2], "bob", 2)
    registry.remove(handles[0])
    registry.add(new_handle(), "ann", 3)


def test_unknown_handles_are_named_as_the_thrift_server_does() -> None:
    handle = Handle(b"0123456789abcdef", b"")
    assert no_such_session(handle).failure.message == (
        "Invalid SessionHandle: SessionHandle [30313233-3435-3637-3839-616263646566]"
    )
    assert no_such_operation(handle, 0).failure.message == (
        "Invalid OperationHandle: OperationHandle [opType=EXECUTE_STATEMENT,"
        " getHandleIdentifier()=30313233-3435-3637-3839-616263646566]"
    )
    assert "opType=UNKNOWN" in no_such_operation(Handle(b"x", b""), 99).failure.message
