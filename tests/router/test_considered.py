"""A decision has the clusters that were considered in order, the rules, and the obstacles."""

import os
import random

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from dialect.statement import ALL, NONE, Known, Read, Unknown, Write, WriteAction
from router.decision import Decision, Refuse, RunIn
from router.obstacles import Considered, Obstacle, ObstacleKind, describe
from router.request import Bound, Request
from router.route import route
from tests.router.cases import (
    C1,
    C2,
    C3,
    CROSSED,
    DOWN_THREE,
    FILESYSTEMS,
    HOME,
    Where,
    decide,
    insert,
    partitioned,
    ref,
    select,
    table,
)

T11, T12, T21, T31 = (ref(name) for name in ("t11", "t12", "t21", "t31"))
STATEMENTS = int(os.environ.get("CAUSEWAY_DECISIONS", "2000"))
WRITES_BOTH = Known(
    "multi_insert", (), (Write(T12, WriteAction.INSERT, True), Write(T21, WriteAction.INSERT, True))
)
X = Bound(C1, "x is there")


def passed(cluster: ClusterName, rule: str, *obstacles: tuple[object, ...]) -> Considered:
    return Considered(cluster, rule, False, tuple(Obstacle(cluster, *each) for each in obstacles))  # type: ignore[arg-type]


def chosen(cluster: ClusterName, rule: str) -> Considered:
    return Considered(cluster, rule, True)


@pytest.mark.parametrize(
    ("decision", "considered"),
    [
        (decide(select("t11")), [chosen(C1, "DC-R7")]),
        (decide(select("t21", "t11")), [chosen(C2, "DC-R7")]),
        (
            decide(select("t11", "t21")),
            [passed(C1, "DC-R7", (ObstacleKind.ABSENT, T21)), chosen(C2, "DC-R7")],
        ),
        (
            decide(select("t21", "t11"), use_default=True),
            [passed(C1, "D4", (ObstacleKind.ABSENT, T21)), chosen(C2, "DC-R7")],
        ),
        (
            decide(select("t11", "t31")),
            [
                passed(C1, "DC-R7", (ObstacleKind.ABSENT, T31)),
                passed(C3, "DC-R7", (ObstacleKind.ABSENT, T11)),
            ],
        ),
        (
            decide(select("t11"), {"t11": table(C1, stale=(C2,))}, pinned=C2),
            [passed(C2, "DC-U1", (ObstacleKind.STALE, T11))],
        ),
        (
            decide(select("a", "b"), CROSSED, down=frozenset({C1})),
            [passed(C1, "DC-R7", (ObstacleKind.DOWN,)), chosen(C2, "DC-R7")],
        ),
        (
            decide(select("a"), CROSSED, down=frozenset({C1})),
            [Considered(C1, "DC-R7", True, (Obstacle(C1, ObstacleKind.DOWN),))],
        ),
        (
            decide(select("a"), CROSSED, **DOWN_THREE),
            [passed(C1, "DC-R7", (ObstacleKind.DOWN,)), chosen(C2, "lost")],
        ),
        (
            decide(select("a", "t12"), CROSSED | {"t12": table(C1, C3)}, **DOWN_THREE),
            [
                Considered(C1, "DC-R7", True, (Obstacle(C1, ObstacleKind.DOWN),)),
                passed(C2, "lost", (ObstacleKind.ABSENT, T12)),
                passed(C3, "lost", (ObstacleKind.ABSENT, ref("a"))),
            ],
        ),
        (
            decide(select(), clusters=(C1, C2, C3), down=frozenset({C1, C2})),
            [
                passed(C1, "D11", (ObstacleKind.DOWN,)),
                passed(C2, "D11", (ObstacleKind.DOWN,)),
                chosen(C3, "D11"),
            ],
        ),
        (decide(select()), [chosen(C1, "D11")]),
        (decide(insert("n", exists=False)), [chosen(C1, "D3")]),
        (decide(insert("t21")), [chosen(C2, "DC-R5")]),
        (decide(insert("t31", "t11")), [passed(C3, "DC-R4", (ObstacleKind.ABSENT, T11))]),
        (
            decide(insert("t11"), pinned=C2),
            [
                passed(C2, "DC-R2", (ObstacleKind.WRITTEN, T11, None, (), C1)),
                passed(C1, "DC-R2", (ObstacleKind.PINNED, None, None, (), C2)),
            ],
        ),
        (
            decide(WRITES_BOTH),
            [
                passed(C1, "DC-R3", (ObstacleKind.WRITTEN, T21, None, (), C2)),
                passed(C2, "DC-R3", (ObstacleKind.WRITTEN, T12, None, (), C1)),
            ],
        ),
        (
            decide(
                Known(
                    "load", (), (Write(T11, WriteAction.INSERT, True),), paths_read=("/data/c2",)
                ),
                filesystems=FILESYSTEMS,
            ),
            [passed(C1, "DC-R4", (ObstacleKind.PATH, None, None, (), C2))],
        ),
        (decide(select("t11"), bounds=(X,)), [chosen(C1, "session")]),
        (
            decide(select(), bounds=(X,), pinned=C2),
            [passed(C1, "session", (ObstacleKind.PINNED, None, None, (), C2))],
        ),
        (
            decide(insert("t21"), bounds=(X,)),
            [passed(C1, "session", (ObstacleKind.WRITTEN, T21, None, (), C2))],
        ),
        (
            decide(select(), bounds=(X, Bound(C2, "y"))),
            [passed(C1, "session", (ObstacleKind.SESSION, None, None, (), C2))],
        ),
        (
            decide(Unknown("odd", writing=False), bounds=(X,), pinned=C2),
            [passed(C2, "session", (ObstacleKind.SESSION, None, None, (), C1))],
        ),
        (
            decide(Unknown("odd", writing=False), pinned=C2, viewed=frozenset({C2})),
            [chosen(C2, "unknown")],
        ),
        (decide(Unknown("odd")), []),
    ],
)  # fmt: skip
def test_a_decision_has_the_clusters_that_were_considered(
    decision: Decision, considered: list[Considered]
) -> None:
    assert isinstance(decision, RunIn | Refuse)
    assert list(decision.considered) == considered


def test_obstacles_of_partitions_have_the_number_and_the_first_names() -> None:
    days = {"p": partitioned(*((str(day), HOME) for day in range(9)))}
    decision = decide(Known("select", (Read(ref("p")),)), days, pinned=C2)
    assert isinstance(decision, Refuse)
    ((obstacle,),) = (each.obstacles for each in decision.considered)
    names = [f"ds={day}" for day in range(8)]
    assert obstacle == Obstacle(C2, ObstacleKind.ABSENT, ref("p"), 9, tuple(names))
    assert describe(obstacle) == "default.p has 9 partitions missing: ds=0, ds=1, ds=2, .."
    assert obstacle.document() == {
        "cluster": "C2",
        "kind": "absent",
        "table": "default.p",
        "partitions": 9,
        "first": names,
        "other": None,
    }


def test_messages_are_rendered_from_the_obstacles() -> None:
    """In random decisions, each refusal for missing data describes its obstacles."""
    seed = int(os.environ.get("CAUSEWAY_SEED", str(random.randrange(1 << 30))))
    print("seed", seed)
    chance, refused, ran_after = random.Random(seed), 0, 0
    for _ in range(STATEMENTS):
        request, facts = _random(chance)
        decision = route(request, facts)
        assert isinstance(decision, RunIn | Refuse)
        picked = [each.cluster for each in decision.considered if each.chosen]
        if isinstance(decision, RunIn):
            assert picked == [decision.cluster]
            ran_after += len(decision.considered) > 1
            continue
        assert not picked
        if decision.code in ("CW104", "CW105"):
            refused += 1
            assert decision.considered
            for each in decision.considered:
                assert each.obstacles
                assert all(describe(obstacle) in decision.because for obstacle in each.obstacles)
                assert all(_is_true(obstacle, request, facts) for obstacle in each.obstacles)
    assert refused > STATEMENTS / 20
    assert ran_after > STATEMENTS / 200


def _is_true(obstacle: Obstacle, request: Request, facts: dict[TableRef, TableFacts]) -> bool:
    """Whether the obstacle agrees with the facts, computed in the simplest way."""
    if obstacle.kind is ObstacleKind.PATH:
        return obstacle.other is not None and obstacle.other != obstacle.cluster
    assert obstacle.table is not None
    assert isinstance(request.statement, Known)
    known = facts[obstacle.table]
    if known.partitions is None:
        return obstacle.partitions is None and not known.replicas.readable_in(obstacle.cluster)
    placed, rows = known.partitions, set[int]()
    for read in request.statement.reads:
        if read.table == obstacle.table:
            rows |= set(read.partitions.select(placed.partitions))
    lacking = [
        row
        for row in sorted(rows)
        if not placed.replicas[placed.groups[row]].readable_in(obstacle.cluster)
    ]
    first = tuple(f"ds={placed.partitions.row(row)[0]}" for row in lacking[:8])
    return (obstacle.partitions, obstacle.first) == (len(lacking), first)


def _random(chance: random.Random) -> tuple[Request, dict[TableRef, TableFacts]]:
    clusters = (C1, C2, C3)

    def replicas() -> Replicas:
        primary = chance.choice(clusters)
        others = [each for each in clusters if each != primary]
        held = {each: chance.choice(("fresh", "fresh", "stale", "")) for each in others}
        by_kind = {
            kind: frozenset(each for each in others if held[each] == kind)
            for kind in ("fresh", "stale")
        }
        return Replicas(primary, by_kind["fresh"], by_kind["stale"])

    def facts_of() -> TableFacts:
        if chance.random() < 0.5:
            return TableFacts(replicas())
        rows = [replicas() for _ in range(chance.randrange(1, 7))]
        partitions = PartitionSet(
            [PartitionKey("ds", "string")], [(str(row),) for row in range(len(rows))]
        )
        distinct = tuple(dict.fromkeys(rows))
        groups = [distinct.index(each) for each in rows]
        return TableFacts(replicas(), PlacedPartitions(partitions, distinct, groups))

    names = [ref(name) for name in "abc"]
    facts = {name: facts_of() for name in names}
    days = Where(*map(str, chance.sample(range(8), 3)))
    reads = tuple(
        Read(chance.choice(names), chance.choice((ALL, ALL, NONE, days)))
        for _ in range(chance.randrange(1, 4))
    )
    writes = (Write(chance.choice(names), WriteAction.INSERT, chance.random() < 0.5),)
    statement = Known(
        "select",
        reads,
        writes if chance.random() < 0.2 else (),
        paths_read=("/data/c2/x",) if chance.random() < 0.1 else (),
    )
    return Request(
        statement,
        default=C1,
        pinned=chance.choice((None, None, *clusters)),
        use_default=chance.random() < 0.3,
        filesystems=FILESYSTEMS,
        down=frozenset(each for each in clusters if chance.random() < 0.2),
        clusters=clusters,
        moves=chance.random() < 0.5,
    ), facts
