"""The copies that a refusal's hint names let the statement run, and COPY understands them."""

from dataclasses import replace

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import (
    PartitionKey,
    PartitionSet,
    PlacedPartitions,
    Replicas,
    TableFacts,
)
from dialect.grammar.cluster_statements import CopyTable, parse
from dialect.statement import Action, Known, Read, Write
from router.cures import CopyNeeded, cure
from router.decision import Refuse, RunIn
from router.needs import inputs
from router.request import Facts, Request
from router.route import route

EAST, WEST = ClusterName("east"), ClusterName("west")
VISITS, USERS = TableRef("sample", "visits"), TableRef("sample", "users")
GIGA = 1_000_000_000


def facts(days: int, visits: int | None = 4 * GIGA, users: int | None = 5 * GIGA) -> Facts:
    partitions = PartitionSet([PartitionKey("ds", "string")], [(str(day),) for day in range(days)])
    home = Replicas(WEST, frozenset())
    placed = PlacedPartitions(partitions, (home,), [0] * days)
    return {
        VISITS: TableFacts(home, placed, size=visits),
        USERS: TableFacts(Replicas(EAST, frozenset()), size=users),
    }


JOIN = Known("select", (Read(VISITS), Read(USERS)))


def hint(known: Facts, statement: Known = JOIN, pinned: ClusterName | None = None) -> str:
    refused = route(Request(statement, EAST, pinned), known)
    assert isinstance(refused, Refuse)
    return refused.hint


def test_the_hint_names_the_cheapest_copy_with_its_bytes_and_seconds() -> None:
    assert hint(facts(5)).endswith(
        " For example: ALTER TABLE sample.visits COPY west TO east"
        " -- 4.0 GB, about 40 s at 100.0 MB/s"
    )
    assert hint(facts(5, users=1000)).endswith(
        "ALTER TABLE sample.users COPY east TO west -- 1.0 kB, about 1 s at 100.0 MB/s"
    )


def test_a_few_partitions_are_copied_one_by_one() -> None:
    assert hint(facts(2), pinned=EAST).endswith(
        "ALTER TABLE sample.visits PARTITION (ds = '0') COPY west TO east;"
        " ALTER TABLE sample.visits PARTITION (ds = '1') COPY west TO east"
        " -- 4.0 GB, about 40 s at 100.0 MB/s"
    )


def test_without_statistics_no_bytes_are_named() -> None:
    assert hint(facts(5, None, None)).endswith("ALTER TABLE sample.users COPY east TO west")
    assert "sample.visits COPY west TO east -- 4.0 GB" in hint(facts(5, users=None))


def test_a_write_is_cured_only_in_its_primary() -> None:
    insert = Known("insert", (Read(VISITS),), (Write(USERS, Action.INSERT, True),))
    assert "ALTER TABLE sample.visits COPY west TO east" in hint(facts(5, visits=10**15), insert)


def test_a_table_that_cannot_be_copied_is_not_named() -> None:
    known = dict(facts(5))
    known[VISITS] = replace(
        known[VISITS] or TableFacts(Replicas(WEST, frozenset())), copyable=False
    )
    assert "ALTER TABLE sample.users COPY east TO west" in hint(known)
    assert "For example" not in hint(known, pinned=EAST)


def test_after_the_copy_the_statement_runs() -> None:
    known = dict(facts(5))
    (read, _) = inputs(JOIN, known, Request(JOIN, EAST).coverage)
    assert read.placed is not None
    copied = replace(read.placed, replicas=(Replicas(WEST, frozenset({EAST})),))
    known[VISITS] = TableFacts(Replicas(WEST, frozenset()), copied)
    decision = route(Request(JOIN, EAST), known)
    assert isinstance(decision, RunIn)
    assert decision.cluster == EAST


def test_nothing_is_named_where_copies_do_not_help_or_are_too_many() -> None:
    many = [TableRef("sample", f"t{number}") for number in range(4)]
    known: Facts = {
        USERS: TableFacts(Replicas(EAST, frozenset())),
        **{each: TableFacts(Replicas(ClusterName(f"c{each.name}"), frozenset())) for each in many},
    }
    statement = Known("select", (Read(USERS), *map(Read, many)))
    assert "For example" not in hint(known, statement)
    there = inputs(Known("select", (Read(USERS),)), known, Request(JOIN, EAST).coverage)
    assert cure(there, known, [EAST]) == ""


def test_partitions_of_several_primaries_are_not_copied_by_one_statement() -> None:
    partitions = PartitionSet([PartitionKey("ds", "string")], [(str(day),) for day in range(9)])
    both = tuple(Replicas(each, frozenset()) for each in (WEST, ClusterName("north")))
    placed = PlacedPartitions(partitions, both, [day % 2 for day in range(9)])
    known = {**facts(1), VISITS: TableFacts(both[0], placed)}
    assert "For example" not in hint(known, pinned=EAST)


@pytest.mark.parametrize("name", ["c1", "dc-1.eu", "a`b", "west"])
@pytest.mark.parametrize("value", ["2026-01-31", "it's", "back\\slash", ""])
def test_copy_understands_the_statement(name: str, value: str) -> None:
    wanted = CopyNeeded(
        TableRef("my db", "t-1"), (("ds", value),), ClusterName(name), ClusterName("to"), None
    )
    assert parse(str(wanted), True) == CopyTable("my db", "t-1", ((("ds", value),),), name, "to")
