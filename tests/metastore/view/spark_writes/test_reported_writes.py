"""A write past the proxy has a mark of its own for as long as it runs (D10): a copy that is
published meanwhile is not read, also when the server that writes dies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import pytest

from conf.names import TableRef
from conf.placement import Copy
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.errors import ChangedMeanwhile, MetastoreRefused
from metastore.placement.assign import end_writes
from metastore.view.spark_writes import reported_writes
from metastore.view.spark_writes.reported_writes import ReportedWrites
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, placed, table
from tests.metastore.view.spark_writes.copied_tables import (
    Views,
    days,
    fresh,
    now,
    other_process,
    published,
)
from tests.metastore.writable import C1, C2, views
from thriftcodec.values import BOOL, LIST, MAP, STRING, Struct, string_map, strings

Call = Callable[..., None]


@pytest.fixture
def guard(view: Views) -> Iterator[HmsClient]:
    """The connection of a guard in C1."""
    with HmsClient((view[C1],), 60.0) as client:
        yield client


def report(
    guard: HmsClient,
    write_id: str = "w",
    ref: TableRef | None = None,
    spec: Mapping[str, str] | None = None,
    paths: Sequence[str] = (),
    marks: Sequence[str] = (),
    ended: bool = False,
) -> None:
    """A guard's `causeway_write`."""
    arguments = Struct({3: (MAP, string_map(spec or {})), 6: (STRING, write_id)})
    if ref is not None:
        arguments.set(1, STRING, ref.db)
        arguments.set(2, STRING, ref.name)
    arguments.set(4, LIST, strings(paths))
    arguments.set(5, LIST, strings(marks))
    arguments.set(7, BOOL, ended)
    arguments.set(8, STRING, "c1 server")
    guard.call("causeway_write", arguments)


@pytest.fixture
def call(guard: HmsClient) -> Call:
    """`causeway_write` in C1."""
    return partial(report, guard)


def test_a_named_table_is_marked_until_the_write_ends(hms, call) -> None:
    hms.add(table(placed()))
    before = now(hms).version
    call(ref=REF, paths=[HOME])
    (mark,) = now(hms).open
    assert (mark.id, mark.by, mark.partitions) == ("w", "c1 server", None)
    call(ref=REF, paths=[HOME], ended=True)
    assert not now(hms).writing
    assert now(hms).version != before


def test_a_copy_that_is_published_during_the_write_is_not_read(hms, view, call) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    call(ref=REF, paths=[HOME])
    with other_process(hms, view) as facts:
        facts.change_table(REF, published)
    assert not fresh(hms)  # and so it stays when the server dies
    call(ref=REF, paths=[HOME], ended=True)
    assert not fresh(hms)


def test_a_copy_that_began_before_and_is_published_after_the_write_is_stale(hms, view, call):
    hms.add(table(placed()))
    began = now(hms).version
    call(ref=REF, paths=[HOME])
    call(ref=REF, paths=[HOME], ended=True)
    with other_process(hms, view) as facts:
        facts.change_table(REF, lambda old: old.with_copy(Copy(C2, AWAY, began)))
    assert not fresh(hms)


def test_the_first_copy_of_a_table_that_is_written_by_path(hms, view, call) -> None:
    """When the write begins nothing says that the folder matters."""
    hms.add(table(placed()))
    call(paths=[f"{HOME}/part-0"])
    assert not now(hms).writing
    with other_process(hms, view) as facts:
        facts.change_table(REF, published)
    assert now(hms).copies
    assert not fresh(hms)
    call(paths=[f"{HOME}/part-0"], ended=True)
    assert not now(hms).writing
    assert not fresh(hms)


def test_the_first_copy_of_a_table_that_the_write_creates(hms, view, call) -> None:
    call(ref=REF, paths=[HOME])
    hms.add(table(placed()))
    with other_process(hms, view) as facts:
        facts.change_table(REF, published)
    assert not fresh(hms)


@pytest.mark.parametrize("named", [True, False])
def test_two_processes_of_a_view_know_of_a_write(hms, view, call, named: bool) -> None:
    """The guard reports to both. A copy is published through the one that the settings name, which
    has died and begun again where the write names its table: then the mark is in the metastore.
    """
    hms.add(table(placed()))
    written = {"ref": REF if named else None, "paths": [f"{HOME}/part-0"]}
    with views(hms) as other, HmsClient((other[C1],), 60.0) as second:
        call(**written)
        if not named:
            report(second, **written)
        with other_process(hms, other) as facts:
            facts.change_table(REF, published)
        assert now(hms).copies
        assert not fresh(hms)
        call(**written, ended=True)
        report(second, **written, ended=True)
        assert not now(hms).writing
        assert not fresh(hms)
        with other_process(hms, view) as facts:
            facts.change_table(REF, published)
        assert fresh(hms)


def test_a_copy_of_another_path_published_during_the_write_is_fresh(hms, view, call) -> None:
    hms.add(table(placed()))
    call(paths=["hdfs://c1:8020/warehouse/other"])
    with other_process(hms, view) as facts:
        facts.change_table(REF, published)
    assert fresh(hms)


class TestPartitions:
    def test_others_stay_fresh(self, hms, call) -> None:
        days(hms, 1, 2)
        call(ref=REF, spec={"ds": "1"}, paths=[HOME])
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)
        call(ref=REF, spec={"ds": "1"}, paths=[HOME], ended=True)
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)
        assert not now(hms).writing

    def test_a_table_that_gets_its_first_copy_during_the_write(self, hms, view, call) -> None:
        days(hms, 1, 2)
        call(ref=REF, spec={"ds": "9"}, paths=[HOME])
        with other_process(hms, view) as facts:
            facts.change_partitions(REF, ["ds=9"], lambda _, old: published(old))
        assert (fresh(hms, "1"), fresh(hms, "9")) == (True, False)
        call(ref=REF, spec={"ds": "9"}, paths=[HOME], ended=True)
        assert (fresh(hms, "1"), fresh(hms, "9")) == (True, False)

    def test_a_table_in_the_path_that_gets_its_first_copy_during_the_write(
        self, hms, view, call
    ) -> None:
        days(hms, 1, 2)
        call(paths=[f"{HOME}/ds=9", f"{HOME}/ds=1/x"])
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)
        with other_process(hms, view) as facts, pytest.raises(ChangedMeanwhile):
            facts.change_partitions(REF, ["ds=9"], lambda _, old: published(old))
        assert (fresh(hms, "2"), fresh(hms, "9")) == (True, False)
        call(paths=[f"{HOME}/ds=9", f"{HOME}/ds=1/x"], ended=True)
        assert [fresh(hms, day) for day in "129"] == [False, True, False]

    def test_any_of_a_dynamic_write(self, hms, call) -> None:
        days(hms, 1, 2)
        call(ref=REF, paths=[HOME])
        assert not fresh(hms, "1")
        call(ref=REF, paths=[HOME], ended=True)
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, False)


class TestOwnMark:
    def test_of_the_proxy_makes_another_needless(self, hms, view, call) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        with other_process(hms, view) as facts:
            facts.open_write(REF, "proxy", None, 0, "proxy")
            call(ref=REF, paths=[HOME], marks=["proxy"])
            assert [mark.id for mark in now(hms).open] == ["proxy"]
            before = sum(hms.calls.values())
            call(ref=REF, paths=[HOME], marks=["proxy"], ended=True)
            assert sum(hms.calls.values()) == before
            facts.close_write(REF, "proxy", None)
        assert not fresh(hms)

    def test_a_second_table_on_the_folder_is_marked_too(self, hms, view, call) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        alias = table(placed())
        alias.set_text(1, "other")
        hms.add(alias)
        other = TableRef("default", "other")
        with other_process(hms, view) as facts:
            facts.open_write(other, "proxy", None, 0, "proxy")
            call(ref=other, paths=[HOME], marks=["proxy"])
            facts.close_write(other, "proxy", None)
        assert now(hms).writing
        call(ref=other, paths=[HOME], marks=["proxy"], ended=True)
        assert not now(hms).writing
        assert not fresh(hms)


class TestFactsOfOthersAtTheSameMoment:
    def test_that_take_the_mark_away(self, hms, view, call) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        before = Table(hms.tables[REF]).parameters
        call(ref=REF, paths=[HOME])
        made = table(before)
        hms.add(made)
        with other_process(hms, view) as facts:
            facts.wait_for_pending(REF)
        assert not fresh(hms)

    def test_that_bring_it_back(self, hms, view, call) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        call(ref=REF, paths=[HOME])
        during = Table(hms.tables[REF]).parameters
        call(ref=REF, paths=[HOME], ended=True)
        hms.add(table(during))
        with other_process(hms, view) as facts:
            facts.wait_for_pending(REF)
        assert not now(hms).writing
        assert not fresh(hms)


class TestDeadServers:
    def test_the_mark_stays_until_an_operator_ends_it(
        self, hms, view, call, guard: HmsClient
    ) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        call(ref=REF, paths=[HOME])
        with other_process(hms, view) as facts:
            with pytest.raises(ChangedMeanwhile):
                end_writes(facts, REF)  # it lives
            guard.close()
            while True:
                assert not fresh(hms)
                with suppress(ChangedMeanwhile):  # until the view has seen the end
                    end_writes(facts, REF)
                    break
            assert not now(hms).writing
            assert not fresh(hms)
            facts.change_table(REF, published)
        assert fresh(hms)

    def test_a_restarted_view_gets_the_running_write_again(self, hms, call) -> None:
        """The guard repeats the call while its write runs; `call` had another view."""
        hms.add(table(placed()))
        call(paths=[HOME])
        with views(hms) as second:
            arguments = Struct({4: (LIST, strings([HOME])), 6: (STRING, "w")})
            with HmsClient((second[C1],), 60.0) as client:
                client.call("causeway_write", arguments)
                with other_process(hms, second) as facts:
                    facts.change_table(REF, published)
                assert not fresh(hms)
                arguments.set(7, BOOL, True)
                client.call("causeway_write", arguments)
        assert not now(hms).writing
        assert not fresh(hms)

    def test_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reported_writes, "LIMIT", 3)
        writes = ReportedWrites()
        for number in range(5):
            writes.begin(_write(str(number)), None)  # type: ignore[arg-type]
        assert [each.write.id for each in writes.all()] == ["2", "3", "4"]


def test_a_refused_write_changes_nothing(hms, call) -> None:
    hms.add(table(placed(Copy(C1, f"{HOME}/copy", "0"), primary=C2)))
    before = now(hms)
    with pytest.raises(MetastoreRefused, match="CW350"):
        call(paths=[f"{HOME}/copy"])
    assert now(hms) == before


def test_a_write_reported_twice_has_one_mark(hms, call) -> None:
    hms.add(table(placed(), KEYS))
    call(ref=REF, paths=[HOME])
    call(ref=REF, paths=[HOME])
    assert len(now(hms).open) == 1
    call(ref=REF, paths=[HOME], ended=True)
    call(ref=REF, paths=[HOME], ended=True)
    assert not now(hms).writing


def _write(write_id: str) -> reported_writes.SparkWrite:
    return reported_writes.SparkWrite(id=write_id)
