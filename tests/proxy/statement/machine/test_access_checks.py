"""Access rules in the decision for a statement, in lists, and for Causeway's own commands."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from conf.access.document import rules_of
from conf.names import TableRef
from conf.settings.security.access import AccessSettings
from conf.settings.settings import Settings
from dialect.catalog_commands import DescribeTable, ShowTables
from dialect.grammar.cluster_statements import CopyTable, ExplainCluster, ShowCopies, UseCluster
from dialect.statement import Known, SetVariable, UseDatabase
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.errors import Failure, ThriftServerError
from proxy.record.record import Record
from proxy.session.session import SessionState
from proxy.statement.dry_run import dry_run, explain
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.access_checks import check_command, check_database, visible
from proxy.statement.machine.claims import check_unguarded, claim_overlay
from proxy.statement.machine.events import CallFailed, CommandRead, Recalled, Started
from proxy.statement.statement_router import StatementRouter
from router.access.restrictions import UNRESTRICTED
from router.access.user_access import Access
from router.claim import KEY
from router.decision import Refuse, RunIn
from tests.metastore.view.server.view_calls import KEYS, table
from tests.metastore.writable import C1, C2, TOPOLOGY, WritableMetastore
from tests.proxy.statement.playbook import (
    EAST,
    Playbook,
    analysed,
    decided,
    routed,
    session,
    statement,
)

DENY_T = {"name": "no t", "effect": "deny", "users": ["ann"], "tables": ["default.t"]}
DENY_HR = {"name": "no hr", "effect": "deny", "users": ["ann"], "databases": ["hr"]}


def denied_session(*rules: dict[str, Any]) -> SessionState:
    state = session()
    state.access = Access(rules_of({"rules": list(rules)})).of("ann")
    assert state.access is not None
    return state


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    fake = WritableMetastore()
    fake.add(table({}, KEYS), ("ds=1", {}))
    yield fake
    fake.stop()


def with_router(hms: WritableMetastore, scenario: Any, *rules: dict[str, Any]) -> Any:
    """The result of `scenario(router, state)` in a session of ann."""

    async def main() -> Any:
        access = AccessSettings(rules_of({"rules": list(rules)}))
        settings = Settings(TOPOLOGY, (hms.endpoint,), access=access)
        snapshot = Snapshot()
        loader = SnapshotLoader(settings, snapshot)
        router = StatementRouter(settings, snapshot, loader)
        state = SessionState.opened("ann", 9, {}, TOPOLOGY, access=router.access.of("ann"))
        try:
            return await scenario(router, state)
        finally:
            await router.analysis.close()
            loader.close()

    return asyncio.run(main())


SELECT = "SELECT * FROM t"


def test_the_refusal_is_the_decision(hms: WritableMetastore) -> None:
    """The refusal has no facts of the table. The audit log and the history record it."""

    async def scenario(router: StatementRouter, state: SessionState) -> Any:
        return await router.decide(SELECT, state)

    found = with_router(hms, scenario, DENY_T)
    assert isinstance(found.decision, Refuse)
    assert found.decision.code == "CW107"
    assert found.decision.because == "ann may not read default.t: the rule 'no t' denies it."
    assert found.facts == {}
    record = Record()
    record.decided(found.statement, found.decision, found.facts)
    assert (record.rule, record.because) == ("access", found.decision.because)
    assert isinstance(with_router(hms, scenario).decision, RunIn)


PART = {"name": "some", "effect": "filter", "users": ["ann"], "tables": ["default.t"],
        "expression": "id > 1"}  # fmt: skip


def test_a_part_of_a_table_needs_a_guard(hms: WritableMetastore) -> None:
    async def scenario(router: StatementRouter, state: SessionState) -> Any:
        return await router.decide(SELECT, state)

    found = with_router(hms, scenario, PART)
    assert isinstance(found.decision, RunIn)
    assert "default.t is read in part (rows by the rule 'some')" in found.decision.because
    assert '"filter":{"sql":"id > 1","rule":"some"}' in claim_overlay(found, C1, (), None)[KEY]
    with pytest.raises(
        ThriftServerError, match=r"CW107.*only a part of default\.t, and the cluster"
    ):
        check_unguarded(C1, found)
    check_unguarded(C1, replace(found, restricted=UNRESTRICTED))


def test_a_cluster_can_be_denied(hms: WritableMetastore) -> None:
    rule = {"name": "no c2", "effect": "deny", "users": ["ann"], "clusters": [str(C2)]}

    async def scenario(router: StatementRouter, state: SessionState) -> Any:
        state.pinned = C2
        return (await router.decide("SELECT 1", state)).decision

    found = with_router(hms, scenario, rule)
    assert isinstance(found, Refuse)
    assert f"the cluster {C2}: the rule 'no c2'" in found.because


def test_explain_shows_the_denial_and_not_where_the_table_is(hms: WritableMetastore) -> None:
    async def scenario(router: StatementRouter, state: SessionState) -> Any:
        shown = await explain(ExplainCluster(SELECT, False), state, router)
        with pytest.raises(ThriftServerError, match="CW107"):
            await explain(ExplainCluster(SELECT, True), state, router)
        return dict(zip(shown.columns, shown.rows[0], strict=True)), await dry_run(
            SELECT, state, router
        )

    row, dry = with_router(hms, scenario, DENY_T)
    assert (row["decision"], row["code"], row["rule"]) == ("refuse", "CW107", "access")
    assert "'no t'" in row["because"]
    assert dry.tables == ()
    assert dry.report.code == "CW107"


def test_rules_that_are_read_again_hold_for_views_made_before(hms: WritableMetastore) -> None:
    async def scenario(router: StatementRouter, state: SessionState) -> Any:
        view = "CREATE TEMPORARY VIEW mine AS SELECT * FROM t"
        made = await router.decide(view, state)
        assert isinstance(made.statement, Known)
        assert made.statement.effect is not None
        state.apply(made.statement.effect, view, None, 1)
        before = (await router.decide("SELECT * FROM mine", state)).decision
        settings = replace(router.settings, access=AccessSettings(rules_of({"rules": [DENY_T]})))
        router.reconfigure(settings)
        state.access = router.access.of("ann")
        return before, (await router.decide("SELECT * FROM mine", state)).decision

    before, after = with_router(hms, scenario)
    assert isinstance(before, RunIn)
    assert isinstance(after, Refuse)
    assert after.code == "CW107"


def _failure(book: Playbook) -> str:
    (become, report) = book.due
    assert isinstance(become, cmd.Become)
    assert become.failure is not None
    assert report == cmd.ReportOutcome()
    return become.failure.message


LIST = Known("metadata_read", catalog=ShowTables("default", None))


@pytest.mark.parametrize("event", [Recalled(None), CallFailed(ThriftServerError(Failure("x")))])
def test_a_list_is_not_left_to_the_cluster(event: Recalled | CallFailed) -> None:
    book = analysed(LIST, state=denied_session(DENY_HR)) << cmd.Route(LIST) >> routed(LIST)
    book = book << cmd.Recall(ShowTables("default", None), EAST) >> event
    assert "[CW107] ann may not use this list" in _failure(book)


def test_any_other_description_is_sent_to_the_cluster() -> None:
    described = DescribeTable(TableRef("default", "t"), extended=False)
    known = Known("metadata_read", catalog=described)
    book = analysed(known, state=denied_session(DENY_HR)) << cmd.Route(known) >> routed(known)
    book = book << cmd.Recall(described, EAST) >> Recalled(None)
    assert isinstance(book.due[0], cmd.EnterCluster)


def test_a_denied_setting_is_not_set() -> None:
    rule = {"name": "s", "effect": "deny", "users": ["ann"], "settings": ["hive.use.*", "a.b"]}
    for key in ("a.b", "hive.use.default.cluster"):
        book = analysed(Known("set", effect=SetVariable(key, "true")), state=denied_session(rule))
        assert f"the setting {key}: the rule 's' denies it" in _failure(book)
    state = denied_session(rule)
    with pytest.raises(ThriftServerError, match=r"a\.b"):
        state.overlay({"a.b": "1"})
    with pytest.raises(ThriftServerError, match="CW107"):
        SessionState.opened("ann", 9, {"set:hiveconf:a.b": "1"}, TOPOLOGY, access=state.access)


def test_a_hidden_database_is_not_used() -> None:
    use = Known("use", effect=UseDatabase("hr"))
    book = analysed(use, state=denied_session(DENY_HR))
    assert "the database hr: rules deny all of it" in _failure(book)
    check_database("default", denied_session(DENY_HR))


@pytest.mark.parametrize(
    "command",
    [
        UseCluster("east"),
        ShowCopies("hr", "pay"),
        CopyTable("hr", "pay", (), "west", "west"),
        CopyTable("default", "t", (), "west", "east"),
    ],
)
def test_commands_of_causeways_own_are_checked(command: Any) -> None:
    rule = {"name": "c", "effect": "deny", "users": ["ann"], "clusters": ["east"]}
    state = denied_session(rule, DENY_HR)
    book = statement(state=state) >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    assert "[CW107]" in _failure(book)
    check_command(command, session())
    check_command(CopyTable("default", "t", (), "west", "west"), state)


def test_only_visible_tables_are_listed() -> None:
    tables = [TableRef("hr", "pay"), TableRef("default", "t")]
    assert visible(tables, denied_session(DENY_HR)) == tables[1:]
    assert visible(tables, session()) == tables


def test_without_rules_nothing_is_checked() -> None:
    assert session().access is None
    assert decided(LIST).due == []
