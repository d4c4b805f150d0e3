"""The claims of decisions."""

import json
from base64 import b64decode
from typing import Any
from zlib import decompress

import pytest

from conf.catalog.tables import ViewText
from conf.names import ClusterName, PartitionRef, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import (
    ALL,
    NONE,
    CacheTable,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    PartitionPredicate,
    Read,
    RenameTemp,
    UncacheTable,
    Unknown,
    Write,
    WriteAction,
)
from router.access.restrictions import RuleText, TableRestriction, UserRestrictions
from router.claim import (
    ANALYZE,
    PARSE,
    PROBE,
    SESSION,
    ChangeRange,
    Claim,
    WholeUnless,
    claim_of,
    encode,
)
from router.request import Facts

C1, C2 = ClusterName("c1"), ClusterName("c2")
T, U, W = (TableRef("d", name) for name in "tuw")


class Days(PartitionPredicate):
    def __init__(self, *days: str) -> None:
        self.days = days

    def select(self, partitions: PartitionSet) -> list[int]:
        return [row for row in range(len(partitions)) if partitions.row(row)[0] in self.days]


def days(*names: str, complete: bool = True, copied: bool = False) -> TableFacts:
    """A table of c1 by day; with `copied` c2 has copies of its days."""
    replicas = Replicas(C1, frozenset({C2}) if copied else frozenset())
    partitions = PartitionSet([PartitionKey("day", "string")], [[name] for name in names])
    placed = PlacedPartitions(partitions, (replicas,), [0] * len(names), complete)
    return TableFacts(replicas, placed, "w1", "f1")


def document(
    statement: Known | Unknown, facts: Facts, cluster: ClusterName = C1, **more: Any
) -> dict[str, Any]:
    text = encode(claim_of(statement, cluster, facts, Coverage.READ, **more))
    decoded: dict[str, Any] = json.loads(text)
    assert decoded.pop("v") == 1
    return decoded


def test_a_statement_without_tables_claims_nothing() -> None:
    assert document(Known("select"), {}) == {}


def test_a_table_that_is_read_in_its_primary_needs_no_version() -> None:
    read = Known("select", (Read(T),))
    assert document(read, {T: TableFacts(Replicas(C1, frozenset()))}) == {"reads": {"d.t": {}}}


def test_ranges_of_changes_make_a_claim_that_older_guards_refuse() -> None:
    ranges = {"d.t": ChangeRange("7", None, 1), "d.u": ChangeRange("000", "9", None), "d.w": None}
    text = encode(claim_of(Known("select"), C1, {}, Coverage.READ, changes=ranges))
    assert json.loads(text) == {
        "v": 2,
        "changes": {"d.t": {"start": "7", "commits": 1}, "d.u": {"start": "000", "end": "9"},
                    "d.w": None},
    }  # fmt: skip
    unknown = encode(claim_of(Unknown("why"), C1, {}, Coverage.READ, changes={"t": None}))
    assert json.loads(unknown) == {"v": 2, "mode": "read", "changes": {"t": None}}
    named = {"d.u": WholeUnless(("t",))}
    text = encode(claim_of(Known("select"), C1, {}, Coverage.READ, changes=named))
    assert json.loads(text) == {"v": 3, "unless": {"d.u": ["t"]}}


def test_a_copy_is_claimed_with_the_ids_by_which_it_was_fresh() -> None:
    read = Known("select", (Read(T),))
    facts = {T: TableFacts(Replicas(C1, frozenset({C2})), None, "w7", "f3")}
    assert document(read, facts, C2) == {"reads": {"d.t": {"write": "w7", "facts": "f3"}}}


def test_the_fewer_partitions_are_named() -> None:
    facts = {T: days("mon", "tue", "wed", "thu")}
    one = Known("select", (Read(T, Days("mon")),))
    most = Known("select", (Read(T, Days("tue", "wed", "thu")),))
    assert document(one, facts) == {"reads": {"d.t": {"in": [["mon"]]}}}
    assert document(most, facts) == {"reads": {"d.t": {"but": [["mon"]]}}}
    assert document(Known("select", (Read(T, ALL),)), facts) == {"reads": {"d.t": {}}}


def test_partitions_are_named_where_others_may_exist() -> None:
    facts = {T: days("mon", "tue", complete=False)}
    both = Known("select", (Read(T, Days("mon", "tue")),))
    assert document(both, facts) == {"reads": {"d.t": {"in": [["mon"], ["tue"]]}}}


def test_two_reads_of_one_table_claim_the_partitions_of_both() -> None:
    facts = {T: days("mon", "tue", "wed", "thu", "fri")}
    read = Known("select", (Read(T, Days("mon")), Read(T, Days("fri"))))
    assert document(read, facts) == {"reads": {"d.t": {"in": [["mon"], ["fri"]]}}}


def test_a_description_is_claimed_without_data() -> None:
    read = Known("metadata_read", (Read(T, NONE),))
    assert document(read, {T: days("mon")}) == {"reads": {"d.t": {"in": []}}}
    defined = Known("create_view", defined=(Read(U),))
    assert document(defined, {}) == {"reads": {"d.u": {"in": []}}}


def test_a_table_that_does_not_exist_may_not_be_read() -> None:
    assert document(Known("select", (Read(T),)), {T: None}) == {}


def test_writes_name_the_partitions_that_are_marked() -> None:
    monday = (("day", "mon"),)
    insert = Known("insert", writes=(Write(W, WriteAction.INSERT, True, named=(monday,)),))
    named = document(insert, {}, targets=[PartitionRef(W, monday)], marks=["m1"])
    assert named == {"writes": {"d.w": {"in": [["mon"]]}}, "marks": ["m1"]}
    assert document(insert, {}, targets=[W]) == {"writes": {"d.w": {}}}


def test_views_paths_and_databases() -> None:
    statement = Known(
        "select",
        views=(TableRef("d", "v"),),
        temps=("Tmp",),
        paths_read=("/in",),
        paths_written=("/out",),
        database_written="d",
        explain=True,
    )
    assert document(statement, {}) == {
        "explain": True,
        "opens": ["d.v", "tmp"],
        "paths": ["/in"],
        "outs": ["/out"],
        "databases": ["d"],
    }


V = TableRef("d", "v")
VIEW = CreateTempView("v", ViewText("SELECT 1", "d"))


@pytest.mark.parametrize(
    ("statement", "idle"),
    [
        (Known("drop", effect=DropTemp("v")), True),
        (Known("create_view", effect=VIEW, defined=(Read(T),)), True),
        (Known("alter", effect=RenameTemp("v", "w")), True),
        (Known("cache", effect=UncacheTable("v")), True),
        (Known("create_view", writes=(Write(V, WriteAction.VIEW, True),)), True),
        (
            Known(
                "drop", writes=(Write(V, WriteAction.VIEW, True), Write(W, WriteAction.DROP, True))
            ),
            False,
        ),
        (Known("insert", writes=(Write(W, WriteAction.INSERT, True),)), False),
        (Known("cache", effect=CreateTempTable("v", cached=VIEW.view)), False),
        (Known("cache", reads=(Read(T),), effect=CacheTable("d.t")), False),
        (Known("create_view", effect=VIEW, explain=True), False),
        (Known("select"), False),
    ],
)
def test_statements_that_only_change_views_are_idle(statement: Known, idle: bool) -> None:
    assert (
        document(statement, {T: TableFacts(Replicas(C1, frozenset()))}).get("idle", False) is idle
    )


def test_an_unknown_statement_has_a_claim_to_read() -> None:
    assert document(Unknown("why", writing=False), {}) == {"mode": "read"}


def test_the_claims_without_a_decision() -> None:
    modes = [json.loads(text)["mode"] for text in (SESSION, PARSE, ANALYZE, PROBE)]
    assert modes == ["session", "parse", "analyze", "probe"]


def test_the_claim_of_a_script_has_the_version_of_scripts() -> None:
    script = Known("script", (Read(T),))
    text = encode(claim_of(script, C1, {T: days("a")}, Coverage.READ))
    assert json.loads(text) == {"v": 5, "script": True, "reads": {"d.t": {}}}


def test_a_long_claim_is_deflated() -> None:
    names = [f"day{number:05}" for number in range(2000)]
    read = Known("select", (Read(T, Days(*names[::2])),))
    text = encode(claim_of(read, C1, {T: days(*names)}, Coverage.READ))
    assert len(text) < 6_000
    unpacked = json.loads(decompress(b64decode(text)))
    assert unpacked["reads"]["d.t"]["in"] == [[name] for name in names[::2]]


def test_a_claim_has_the_users_restrictions() -> None:
    part = TableRestriction(
        RuleText("a = 1", "r"), {"x": RuleText("NULL", "m")}, {"y": "[CW107] no"}
    )
    restricted = UserRestrictions("ann", {T: part}, (U,))
    text = encode(Claim(restricted=restricted))
    assert json.loads(text) == {
        "v": 4,
        "user": "ann",
        "restricted": {
            "d.t": {
                "filter": {"sql": "a = 1", "rule": "r"},
                "masks": {"x": {"sql": "NULL", "rule": "m"}},
                "denied": {"y": "[CW107] no"},
            }
        },
        "unread": ["d.u"],
    }
