"""Reads move to another cluster if theirs is down, or is lost while it runs them."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conf.names import ClusterName
from conf.partitions import TableFacts
from dialect.statement import Known
from router.decision import RunIn
from router.request import Bound
from tests.router.cases import (
    C1,
    C1_DOWN,
    C2,
    C3,
    CROSSED,
    DOWN_THREE,
    SHARED,
    decide,
    insert,
    outcome,
    select,
    table,
)


def test_the_reason_names_the_default_cluster_that_is_down() -> None:
    decision = decide(select(), **C1_DOWN)
    assert decision.because == "no input decides; the default cluster C1 is down, C2 is up"


THREE = {"clusters": (C1, C2, C3), "lost": C1}


@pytest.mark.parametrize(
    ("statement", "request_", "expected"),
    [
        (select("t11"), {}, C2),  # it has the copy
        (select("t11", "t31"), {}, C1),  # no other cluster has both: nothing moves
        (select("t12"), {}, C1),
        (select("t11"), {"down": frozenset({C2})}, C1),
        (select("t31"), {}, C3),  # what changed meanwhile
        (select("t11"), {"pinned": C1}, C1),
        (select("t11"), {"bounds": (Bound(C1, "it uses temporary table x"),)}, C1),
        (select(), {}, C2),
        (replace(select("t11"), paths_read=("/own/x",)), {}, C1),
        (select(), {"down": frozenset({C2})}, C3),
        (Known("list_jar"), {}, C1),
        (Known("select", paths_read=("s3a://bucket/x",)), {}, C1),
    ],
)
def test_a_read_of_a_lost_cluster_runs_in_one_with_all_its_inputs(
    statement: Known, request_: dict[str, object], expected: ClusterName
) -> None:
    assert outcome(decide(statement, **THREE | request_)) == expected


@pytest.mark.parametrize(
    ("statement", "facts", "request_", "expected"),
    [
        (select("a"), CROSSED, DOWN_THREE, "C2"),
        (select("a"), {"a": table(C1, C2, C3)}, DOWN_THREE | {"down": frozenset({C1, C2})}, "C3"),
        (select("a"), {"a": table(C1, C2)}, DOWN_THREE | {"down": frozenset({C1, C2})}, "C1"),
        (select("a"), {"a": table(C1, C3, stale=(C2,))}, DOWN_THREE, "C3"),
        (select("a"), {"a": table(C1, stale=(C2,))}, DOWN_THREE, "C1"),
        (select("a", "b"), SHARED, DOWN_THREE, "CW104"),  # no primary of an input has both
        (replace(select("a"), explain=True), CROSSED, DOWN_THREE, "C2"),
        (replace(select("a"), paths_read=("s3a://shared/x",)), CROSSED, DOWN_THREE, "C2"),
        (replace(select("a"), paths_read=("/own/x",)), CROSSED, DOWN_THREE, "C1"),
        (replace(select("a", "b"), paths_read=("/own/x",)), CROSSED, DOWN_THREE, "C1"),
        (select("a"), CROSSED, DOWN_THREE | {"moves": False}, "C1"),
        (select("a"), CROSSED, DOWN_THREE | {"pinned": C1}, "C1"),
        (select("a"), CROSSED, DOWN_THREE | {"bounds": (Bound(C1, "x"),)}, "C1"),
        (insert("a", "a"), CROSSED, DOWN_THREE, "C1"),
        (insert("n", "a", exists=False), CROSSED, DOWN_THREE, "C1"),
        (Known("metadata_read", select("a").reads), CROSSED, DOWN_THREE, "C1"),
    ],
)
def test_a_query_whose_clusters_are_down_runs_in_one_with_all_its_inputs(
    statement: Known,
    facts: Mapping[str, TableFacts | None],
    request_: dict[str, object],
    expected: str,
) -> None:
    assert outcome(decide(statement, facts, **request_)) == expected


def test_the_reason_names_the_clusters_that_are_down() -> None:
    facts = {"a": table(C1, C3), "b": table(C2, C1, C3), "c": table(C2, C1, C3)}
    decision = decide(select("a", "b"), facts, **DOWN_THREE)
    assert decision.because == "C1 is down, and C3 has all inputs"
    both_down = DOWN_THREE | {"down": frozenset({C1, C2})}
    decision = decide(select("b", "c", "d"), facts | {"d": table(C1, C2, C3)}, **both_down)
    assert decision.because == "C2, C1 are down, and C3 has all inputs"


def test_the_reason_names_the_cluster_that_was_lost() -> None:
    decision = decide(select("t11"), **THREE)
    assert isinstance(decision, RunIn)
    assert decision.because == "C1 was lost while it ran the statement, and C2 has all inputs"
    assert [(each.cluster, each.chosen) for each in decision.considered] == [
        (C1, False),
        (C2, True),
    ]
