"""The changes of a user's session by its statements."""

from dataclasses import replace

import pytest

from dialect.statement import (
    ChangeFunction,
    CreateTempTable,
    Known,
    ResetVariables,
    SetVariable,
    UseDatabase,
)
from proxy.errors import Failure
from proxy.protocol.replies import Status
from proxy.protocol.results import NO_ROWS, ResultTable
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    CallFailed,
    DatabaseChecked,
    Entered,
    Event,
    ExecutionEnded,
    ZoneRead,
)
from tests.proxy.statement.outcomes import (
    APPLIED,
    CANCELED,
    DONE,
    FAILED,
    FINISHED,
    LOST,
    SET,
    WRONG,
    error,
    running,
)
from tests.proxy.statement.playbook import READ, TABLE, WEST, analysed, decided, session


@pytest.mark.parametrize(
    ("end", "after"),
    [
        (FINISHED, [APPLIED, DONE, cmd.AskSchema()]),
        (FAILED, [error(WRONG)]),
        (CANCELED, [cmd.DropSession(), cmd.Become(OperationState.CANCELED)]),
        (CallFailed(LOST), [cmd.DropSession(), error(LOST)]),
    ],
)
def test_the_journal_has_only_changes_that_certainly_happened(
    end: Event, after: list[cmd.Command]
) -> None:
    book = running(SET) >> end
    for command in after:
        book = book << command
    assert (book << cmd.ReportOutcome()).is_over


def test_a_failed_statement_may_have_an_effect() -> None:
    cached = Known("cache", effect=CreateTempTable("v", cached=True))
    there = Status(OperationState.ERROR, Failure("it is there", "42P07"))
    book = running(cached) >> ExecutionEnded(there)
    apply = book.due.pop(0)
    assert isinstance(apply, cmd.Apply)
    assert type(apply.effect).__name__ == "DropTemp"


def test_a_drop_of_an_object_that_could_not_be_made_is_answered() -> None:
    book = decided(SET) >> Entered(checked=False, lacks=True) << APPLIED << cmd.SetResult(NO_ROWS)
    assert (book << DONE << cmd.ReportOutcome()).is_over


def test_a_function_is_looked_up_again_however_its_change_ended() -> None:
    change = ChangeFunction("default", "f")
    book = running(Known("function", effect=change)) >> FAILED << cmd.FunctionChanged(change)
    assert (book << error(WRONG) << cmd.ReportOutcome()).is_over


def test_a_refresh_refreshes_the_table_in_all_clusters() -> None:
    refresh = replace(READ, kind="refresh")
    book = running(refresh) >> FINISHED << cmd.ForgetFiles((TABLE,), elsewhere=True)
    assert (book << DONE << cmd.AskSchema() << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize(
    ("effect", "zone", "applied"),
    [
        (SetVariable("spark.sql.session.timeZone", "", by_server=True), "Asia/Tokyo", True),
        (SetVariable("spark.sql.session.timeZone", "", by_server=True), None, False),
        (ResetVariables(None), None, True),
    ],
)
def test_a_zone_that_is_left_to_the_server_is_read_there(
    effect: SetVariable | ResetVariables, zone: str | None, applied: bool
) -> None:
    book = running(Known("set", effect=effect)) >> FINISHED << cmd.ReadZone() >> ZoneRead(zone)
    if not applied:
        assert book.due[0] == cmd.DropSession()
        return
    apply = book.due.pop(0)
    assert isinstance(apply, cmd.Apply)
    assert zone is None or zone in str(apply.effect)
    assert (book << DONE << cmd.AskSchema() << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize("exists", [True, False])
def test_use_is_answered_when_the_database_exists(exists: bool) -> None:
    book = analysed(Known("use", effect=UseDatabase("sales"))) << cmd.CheckDatabase("sales")
    book = book >> DatabaseChecked(exists)
    if exists:
        book = book << cmd.Apply(UseDatabase("sales"), 1, None) << cmd.SetResult(NO_ROWS)
        assert (book << DONE << cmd.ReportOutcome()).is_over
        return
    (become, report) = book.due
    assert isinstance(become, cmd.Become)
    assert "SCHEMA_NOT_FOUND" in str(become.failure)
    assert report == cmd.ReportOutcome()


def test_settings_of_causeway_are_changed_here() -> None:
    state = session()
    ours = SetVariable("hive.default.cluster.name", "west")
    book = analysed(Known("set", effect=ours), state=state)
    assert state.topology.default == WEST
    answer = cmd.SetResult(ResultTable(("key", "value"), ((ours.key, ours.value),)))
    assert (book << answer << DONE << cmd.ReportOutcome()).is_over
