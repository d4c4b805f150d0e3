"""An operation as its client sees it."""

import asyncio

from proxy.errors import Failure
from proxy.protocol.types import OperationState, OperationType
from proxy.session.handles import new_handle
from proxy.session.operation import Operation

TOO_LONG = Failure("It ran for too long.")


def statement(*states: OperationState) -> tuple[Operation, list[str]]:
    """An operation in the last of the states, and a list of the calls of `stop`."""
    operation, stopped = Operation(new_handle(), OperationType.EXECUTE_STATEMENT), []

    async def stop() -> None:
        stopped.append(operation.state.name)

    operation.stop = stop
    for state in states:
        operation.becomes(state)
    return operation, stopped


def test_a_stopped_statement_keeps_the_state_that_its_client_saw() -> None:
    async def scenario() -> None:
        operation, stopped = statement(OperationState.RUNNING)
        await operation.cancel()
        operation.becomes(OperationState.FINISHED)
        assert operation.state is OperationState.CANCELED
        assert stopped == ["CANCELED"]
        operation, stopped = statement(OperationState.RUNNING)
        await operation.end(TOO_LONG)
        operation.becomes(OperationState.CANCELED)
        assert operation.status.failure == TOO_LONG
        assert stopped == ["ERROR"]

    asyncio.run(scenario())


def test_a_statement_that_has_ended_is_not_stopped_any_more() -> None:
    async def scenario() -> None:
        operation, stopped = statement(OperationState.RUNNING, OperationState.FINISHED)
        await operation.cancel()
        await operation.end(TOO_LONG)
        assert operation.state is OperationState.FINISHED
        assert stopped == []

    asyncio.run(scenario())
