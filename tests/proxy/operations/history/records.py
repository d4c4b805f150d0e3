"""Records of statements, and their rows in the history."""

from typing import Any

from database.history.work import Row
from proxy.operations.history.row import row_of
from proxy.operations.history.table_use import TableUse
from proxy.protocol.types import OperationState
from proxy.record.record import Record
from proxy.record.statement_text import StatementText


def record(number: int, text: str = "SELECT 1", **fields: Any) -> Record:
    """The record of a statement that began at that second and has this number as its id."""
    made = Record(
        user="ann",
        by="hue",
        address="10.0.0.1",
        session="s1",
        statement=f"{number:08}",
        text=StatementText.of(text),
        began=1_000_000.25 + number,
        state=OperationState.FINISHED,
        seconds=0.5,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def row(number: int, *tables: str, text: str = "SELECT 1", **fields: Any) -> Row:
    uses = tuple(TableUse(each, is_write=False) for each in tables)
    return row_of(record(number, text, **fields), uses, "proxy1")
