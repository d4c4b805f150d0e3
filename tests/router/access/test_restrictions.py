"""The parts of tables that a user may see."""

from typing import Any

from conf.names import TableRef
from dialect.statement import ALL, NONE, Known, NoPartitions, Read, Write, WriteAction
from router.access.restrictions import RuleText, TableRestriction, UserRestrictions, restrictions_of
from router.decision import RunIn
from tests.router.access.rules import access_of, deny

T, U = TableRef("d", "t"), TableRef("d", "u")
COLUMN = deny(tables=["d.t"], columns=["salary"], because="Ask HR.")
MASK = {"effect": "mask", "tables": ["d.t"], "columns": ["ssn"], "expression": "left({col}, 1)"}
FILTER = {"effect": "filter", "tables": ["d.t"], "expression": "id > 1"}


def _of(statement: Known, *rules: dict[str, Any]) -> UserRestrictions:
    return restrictions_of(access_of(*rules), statement)


def test_filters_masks_and_denied_columns() -> None:
    found = _of(Known("select", (Read(T), Read(U))), COLUMN, MASK, FILTER)
    message = (
        "[CW107] ann may not read the column salary of d.t: the rule 'r0' denies it. Ask HR. "
        "The operator decides who may read and write what (docs/guide/access.md)."
    )
    part = TableRestriction(
        RuleText("id > 1", "r2"), {"ssn": RuleText("left(`ssn`, 1)", "r1")}, {"salary": message}
    )
    assert found == UserRestrictions("ann", {T: part})
    (because,) = [found.explained(RunIn("c", "R1", "x")).because]  # type: ignore[arg-type]
    assert because == (
        "x; d.t is read in part (rows by the rule 'r2', ssn masked by the rule 'r1',"
        " without salary)"
    )


def test_a_table_that_is_written_alone_is_not_read() -> None:
    write = Write(T, WriteAction.INSERT, True)
    assert _of(Known("insert", (Read(U),), (write,)), FILTER).unread == (T,)
    both = _of(Known("insert", (Read(T),), (write,)), FILTER)
    assert (set(both.tables), both.unread) == ({T}, ())


def test_conditions_on_masked_partition_columns_leave_out_no_partition() -> None:
    some = NoPartitions()
    statement = Known("select", (Read(T, some), Read(U, some), Read(T, NONE)))
    found = _of(statement, MASK)
    assert found.widened(statement, lambda _: ("day",)) is statement
    widened = found.widened(statement, lambda _: ("SSN", "day"))
    assert widened.reads == (Read(T, ALL), Read(U, some), Read(T, NONE))


def test_without_rules_about_parts_nothing_is_restricted() -> None:
    assert not _of(Known("select", (Read(U),)), FILTER)
    assert not _of(Known("select", (Read(T),)), deny(databases=["x"]))
    assert _of(Known("select", (Read(T, ALL), Read(T, NONE))), FILTER)
