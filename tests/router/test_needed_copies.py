"""The hint of a refusal names copies with which the statement runs, and COPY reads its
statements."""

from dataclasses import replace

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from dialect.grammar.cluster_statements import CopyTable, parse
from dialect.statement import Known, Read, Write, WriteAction
from router.decision import Refuse, RunIn
from router.needed_copies import CopyNeeded, bytes_lacking, copies_needed, copy_hint
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
    assert hint(facts(9)).endswith(
        " For example: ALTER TABLE sample.visits COPY west TO east"
        " -- 4.0 GB, about 40 s at 100.0 MB/s"
    )
    assert hint(facts(9, users=1000)).endswith(
        "ALTER TABLE sample.users COPY east TO west -- 1.0 kB, about 1 s at 100.0 MB/s"
    )


def test_one_statement_lists_up_to_eight_partitions() -> None:
    assert hint(facts(2), pinned=EAST).endswith(
        "ALTER TABLE sample.visits PARTITION (ds = '0'), PARTITION (ds = '1') COPY west TO east"
        " -- 4.0 GB, about 40 s at 100.0 MB/s"
    )
    assert hint(facts(8), pinned=EAST).count("PARTITION") == 8
    assert "PARTITION" not in hint(facts(9), pinned=EAST)


def test_without_statistics_no_bytes_are_named() -> None:
    assert hint(facts(5, None, None)).endswith("ALTER TABLE sample.users COPY east TO west")
    assert "sample.visits COPY west TO east -- 4.0 GB" in hint(facts(9, users=None))


def test_the_hint_for_a_write_copies_only_to_its_primary() -> None:
    insert = Known("insert", (Read(VISITS),), (Write(USERS, WriteAction.INSERT, True),))
    assert "ALTER TABLE sample.visits COPY west TO east" in hint(facts(9, visits=10**15), insert)


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


def test_there_is_no_hint_if_copies_do_not_help_or_are_too_many() -> None:
    many = [TableRef("sample", f"t{number}") for number in range(4)]
    known: Facts = {
        USERS: TableFacts(Replicas(EAST, frozenset())),
        **{each: TableFacts(Replicas(ClusterName(f"c{each.name}"), frozenset())) for each in many},
    }
    statement = Known("select", (Read(USERS), *map(Read, many)))
    assert "For example" not in hint(known, statement)
    there = inputs(Known("select", (Read(USERS),)), known, Request(JOIN, EAST).coverage)
    assert copy_hint(there, known, [EAST]) == ""


def of_several_primaries(days: int) -> Facts:
    """The days are in west and north alternately; every third one has a fresh copy in east."""
    partitions = PartitionSet([PartitionKey("ds", "string")], [(str(day),) for day in range(days)])
    places = tuple(
        Replicas(ClusterName(home), frozenset(copies))
        for home in ("west", "north")
        for copies in ((), (EAST,))
    )
    groups = [2 * (day % 2) + (day % 3 == 0) for day in range(days)]
    placed = PlacedPartitions(partitions, places, groups)
    return {**facts(1), VISITS: TableFacts(places[0], placed, size=100 * days)}


def test_partitions_of_several_primaries_have_a_statement_for_each() -> None:
    assert hint(of_several_primaries(6), pinned=EAST).endswith(
        "ALTER TABLE sample.visits PARTITION (ds = '1'), PARTITION (ds = '5') COPY north TO east;"
        " ALTER TABLE sample.visits PARTITION (ds = '2'), PARTITION (ds = '4') COPY west TO east"
        " -- 400 bytes, about 1 s at 100.0 MB/s"
    )
    assert "For example" not in hint(of_several_primaries(60), pinned=EAST)


def needed(known: Facts, cluster: ClusterName = EAST) -> list[CopyNeeded] | None:
    return copies_needed(inputs(JOIN, known, Request(JOIN, EAST).coverage), known, cluster)


def test_copies_needed_have_all_partitions_by_source() -> None:
    copies = needed(of_several_primaries(6_000))
    assert copies is not None
    assert [(each.table, each.source, each.target) for each in copies] == [
        (VISITS, "north", EAST),
        (VISITS, "west", EAST),
    ]
    lacking = [day for day in range(6_000) if day % 3]
    days = [tuple((("ds", str(day)),) for day in lacking if day % 2 == odd) for odd in (1, 0)]
    assert [each.partitions for each in copies] == days
    assert [each.size for each in copies] == [200_000, 200_000]


def test_a_table_without_partitions_is_copied_as_a_whole() -> None:
    assert needed(facts(1), WEST) == [CopyNeeded(USERS, (), EAST, WEST, 5 * GIGA)]


def test_no_copies_are_needed_with_all_inputs_or_possible_for_uncopyable_tables() -> None:
    known = dict(facts(3))
    known[USERS] = TableFacts(Replicas(WEST, frozenset()))
    assert needed(known, WEST) == []
    known[USERS] = replace(known[USERS], copyable=False)
    assert needed(known, EAST) is None


@pytest.mark.parametrize("name", ["c1", "dc-1.eu", "a`b", "west"])
@pytest.mark.parametrize("value", ["2026-01-31", "it's", "back\\slash", ""])
def test_copy_understands_the_statement(name: str, value: str) -> None:
    specs = ((("ds", value),), (("ds", f"{value}x"), ("hr", "1")))
    wanted = CopyNeeded(TableRef("my db", "t-1"), specs, ClusterName(name), ClusterName("to"), None)
    assert parse(str(wanted), True) == CopyTable("my db", "t-1", specs, name, "to")


# Copies that are made before the query runs


def fetched(known: Facts, fetch: int, **request: object) -> Refuse:
    refused = route(replace(Request(JOIN, EAST, fetch=fetch), **request), known)  # type: ignore[arg-type]
    assert isinstance(refused, Refuse)
    return refused


def test_a_refused_query_has_the_cheapest_copies_if_its_session_allows_them() -> None:
    refused = fetched(facts(9), 4 * GIGA)
    (copy,) = refused.copies
    assert (copy.table, len(copy.partitions), copy.target) == (VISITS, 9, EAST)
    assert "causeway.fetch.missing copies it to east when the query is run. For" in refused.hint
    (copy,) = fetched(facts(9, users=GIGA), 4 * GIGA).copies
    assert (copy.table, copy.target) == (USERS, WEST)


def test_nothing_is_copied_for_a_query_that_lacks_more_than_its_session_allows() -> None:
    refused = fetched(facts(9), 3 * GIGA)
    assert refused.copies == ()
    assert "causeway.fetch.missing allows 3.0 GB, and the query lacks 4.0 GB. " in refused.hint


def test_copies_of_known_size_are_preferred_to_unknown_ones() -> None:
    (copy,) = fetched(facts(9, visits=None), 5 * GIGA).copies
    assert (copy.table, copy.size) == (USERS, 5 * GIGA)
    (copy,) = fetched(facts(9, visits=None, users=None), 1).copies
    assert copy.size is None


def test_nothing_is_copied_to_a_cluster_that_is_down() -> None:
    (copy,) = fetched(facts(9), 9 * GIGA, down=frozenset({EAST})).copies
    assert copy.target == WEST


@pytest.mark.parametrize(
    "statement",
    [
        replace(JOIN, explain=True),
        Known("ctas", JOIN.reads, (Write(TableRef("sample", "new"), WriteAction.CREATE, False),)),
        Known("insert", JOIN.reads, (Write(USERS, WriteAction.INSERT, True),)),
    ],
)
def test_nothing_is_copied_for_other_statements(statement: Known) -> None:
    assert fetched(facts(9), 9 * GIGA, statement=statement).copies == ()


def test_the_query_runs_with_its_copies() -> None:
    known = facts(9)
    (copy,) = fetched(known, 9 * GIGA).copies
    there = Replicas(WEST, frozenset({copy.target}))
    placed = known[VISITS].partitions  # type: ignore[union-attr]
    after = {**known, VISITS: TableFacts(there, replace(placed, replicas=(there,)))}  # type: ignore[type-var]
    decision = route(Request(JOIN, EAST), after)
    assert isinstance(decision, RunIn)
    assert decision.cluster == EAST


def target(known: Facts, lacking: dict[ClusterName, float], fetch: int = 99 * GIGA) -> str:
    (copy,) = fetched(known, fetch, lacking=lacking).copies
    return copy.target


def test_copies_go_to_the_cluster_where_later_queries_lack_least() -> None:
    """Visits of 4 GB to east, or users of 5 GB to west."""
    known = facts(9)
    assert target(known, {}) == EAST
    assert target(known, {EAST: 3 * GIGA, WEST: 1 * GIGA}) == WEST
    assert target(known, {EAST: 3 * GIGA, WEST: 3 * GIGA}) == EAST


def test_at_most_three_times_the_fewest_bytes_are_copied_for_later_queries() -> None:
    much = {EAST: 999.0 * GIGA, WEST: 0.0}
    assert target(facts(9, users=12 * GIGA), much) == WEST
    assert target(facts(9, users=13 * GIGA), much) == EAST
    assert target(facts(9, users=None), much) == EAST


def test_no_more_bytes_are_copied_for_later_queries_than_the_session_allows() -> None:
    much = {EAST: 999.0 * GIGA, WEST: 0.0}
    assert target(facts(9), much, 5 * GIGA) == WEST
    assert target(facts(9), much, 4 * GIGA) == EAST
    assert fetched(facts(9), 3 * GIGA, lacking=much).copies == ()


def test_bytes_that_a_cluster_lacks() -> None:
    tables = [each for each in of_several_primaries(6).values() if each is not None]
    assert bytes_lacking(tables, (EAST, WEST)) == {EAST: 400.0, WEST: 5 * GIGA + 300.0}
    assert bytes_lacking([replace(tables[0], size=None)], (EAST,)) == {EAST: 0.0}
