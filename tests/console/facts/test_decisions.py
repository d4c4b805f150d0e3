"""A decision as the pages show it: marks in the text, tables by clusters, rules."""

import pytest

from console.facts.decisions import (
    TableCell,
    considered_clusters,
    marked,
    matrix,
    obstacle_words,
    rule_rows,
)
from console.facts.marked_text import MarkedPiece, pieces
from router.route import RULES
from tests.console.fake_sources import considered, explained, obstacle, state_of, statement

CLUSTERS = ("east", "west")
FRESH = {"s.orders": ("fresh", "here")}


def names(text: str, database: str = "default") -> list[tuple[str, str]]:
    return [(each.text, each.table) for each in pieces(text, database, FRESH) if each.table]


@pytest.mark.parametrize(
    ("text", "database", "marks"),
    [
        ("SELECT * FROM s.orders", "default", ["s.orders"]),
        ("SELECT * FROM S.Orders o JOIN s.orders", "default", ["S.Orders", "s.orders"]),
        ("SELECT * FROM orders", "s", ["orders"]),
        ("SELECT * FROM orders", "default", []),
        ("SELECT * FROM `s`.`orders` WHERE x", "default", ["`s`.`orders`"]),
        ("SELECT * FROM s . orders", "default", []),
        ("SELECT * FROM spark_catalog.s.orders", "default", ["spark_catalog.s.orders"]),
        ("SELECT 's.orders' -- s.orders\n/* s.orders */", "default", []),
        ("SELECT * FROM s.orders2, xs.orders", "default", []),
        ("s.orders", "default", ["s.orders"]),
        ("", "default", []),
    ],
)
def test_tables_are_marked_in_the_text(text: str, database: str, marks: list[str]) -> None:
    assert names(text, database) == [(mark, "s.orders") for mark in marks]
    assert "".join(each.text for each in pieces(text, database, FRESH)) == text


def test_a_mark_has_the_state_in_the_cluster_where_it_runs() -> None:
    tables = [state_of("s.orders", "east", "primary"), state_of("s.orders", "west", "stale")]
    runs = matrix(explained("run", "east", tables=tables), None, CLUSTERS)
    [mark] = marked("s.orders", "default", runs)
    assert mark == MarkedPiece("s.orders", "s.orders", "primary", "east: primary, west: stale")
    nowhere = matrix(explained(tables=tables), None, CLUSTERS)
    assert marked("s.orders", "default", nowhere)[0].state == "stale"


def test_the_matrix_has_every_table_in_every_cluster() -> None:
    stale = state_of("s.v", "west", "stale", partitions=9, primary=0, fresh=7, stale=2, absent=0,
                     stale_since="2026-01-31T06:00:00.000Z", lag=7200.0)  # fmt: skip
    found = matrix(explained("run", "east", tables=[stale]), None, (*CLUSTERS, "north"))
    notes = ("7 of 9 partitions there", "2.0 h behind")
    since = "2026-01-31T06:00:00.000Z"
    assert found.rows == (
        ("s.v", (TableCell(""), TableCell("stale", notes, since), TableCell(""))),
    )


def test_without_the_state_now_the_matrix_has_what_the_decision_knew() -> None:
    found = matrix(None, statement("a"), CLUSTERS)
    states = {table: [cell.state for cell in cells] for table, cells in found.rows}
    assert states == {"s.orders": ["", "absent"], "s.visits": ["absent", ""]}
    ran = statement("a", cluster="east", considered=[considered("east", chosen=True)])
    found = matrix(None, ran, CLUSTERS)
    assert found.rows[0][1][0] == TableCell("fresh", ("had it",), "", chosen=True)


def test_running_statements_have_their_tables_as_names() -> None:
    running = statement("a", reads=["s.orders"], writes=["s.copy"])
    assert [table for table, _ in matrix(None, running, CLUSTERS).rows] == ["s.orders", "s.copy"]


def test_the_rules_are_those_of_the_router_in_order() -> None:
    rows = rule_rows("pin")
    assert len(rows) == len(RULES)
    assert [each.outcome for each in rows] == ["passed"] * 5 + ["decided"] + ["not reached"] * 3
    assert rows[5].rule == "pin"
    assert rule_rows("") == []


@pytest.mark.parametrize(
    "rule",
    [
        "pinned-elsewhere",
        "several-primaries",
        "output-lacks-inputs",
        "output",
        "inputs",
        "pin",
        "new-table",
        "default-first",
        "default",
        "session",
        "lost",
        "cost",
        "cost-probe",
    ],
)
def test_every_rule_of_the_router_has_a_row(rule: str) -> None:
    assert [each.rule for each in rule_rows(rule) if each.outcome == "decided"] == [rule]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (obstacle("east", "s.t"), "s.t is not there"),
        (obstacle("east", "s.t", "stale"), "s.t is stale"),
        (
            obstacle("east", "s.t", partitions=5, first=["d=1", "d=2", "d=3"]),
            "s.t lacks 5 partitions (d=1, d=2, d=3, …)",
        ),
        (
            obstacle("east", "s.t", "stale", partitions=1, first=["d=1"]),
            "s.t is stale in 1 partition (d=1)",
        ),
        (obstacle("east", "", "path", other="west"), "a path lies in west"),
        (obstacle("east", "", "pinned", other="west"), "the session is pinned to west"),
        (obstacle("east", "", "session", other="west"), "an object of the session is in west"),
        (obstacle("east", "s.t", "written", other="west"), "s.t is written in west"),
        (obstacle("east", "", "down"), "no session can be opened there"),
    ],
)
def test_obstacles_in_words(found: dict[str, object], words: str) -> None:
    assert obstacle_words(found) == words


def test_the_clusters_are_in_the_order_in_which_they_were_considered() -> None:
    rows = considered_clusters(
        [considered("west", obstacle("west", "s.t")), considered("east", chosen=True)]
    )
    assert [(each.cluster, each.chosen, each.obstacles) for each in rows] == [
        ("west", False, ("s.t is not there",)),
        ("east", True, ()),
    ]
