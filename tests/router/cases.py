"""Tables of three clusters, statements about them, and decisions of the router."""

from collections.abc import Mapping, Sequence

from conf.catalog.tables import ViewText
from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from dialect.statement import Known, Read, Unknown, Write, WriteAction
from router.decision import Decision, Refuse, RunIn
from router.request import Request
from router.route import route

C1, C2, C3 = (ClusterName(name) for name in ("C1", "C2", "C3"))


def table(primary: ClusterName, *fresh: ClusterName, stale: tuple[ClusterName, ...] = ()):
    return TableFacts(Replicas(primary, frozenset(fresh), frozenset(stale)))


SCENARIO_A = {"t11": table(C1), "t12": table(C1), "t21": table(C2), "t31": table(C3)}
SCENARIO_B = SCENARIO_A | {"t11": table(C1, C2)}
CROSSED = {"a": table(C1, C2), "b": table(C2, C1), "t31": table(C3)}


def ref(name: str) -> TableRef:
    return TableRef("default", name)


def select(*names: str) -> Known:
    return Known("select", tuple(Read(ref(name)) for name in names))


def insert(target: str, *names: str, exists: bool = True) -> Known:
    action = WriteAction.INSERT if exists else WriteAction.CREATE
    return Known(
        "insert", tuple(Read(ref(name)) for name in names), (Write(ref(target), action, exists),)
    )


def decide(
    statement: Known | Unknown,
    facts: Mapping[str, TableFacts | None] = SCENARIO_B,
    **request: object,
) -> Decision:
    asked = Request(statement, default=C1, **request)  # type: ignore[arg-type]
    return route(asked, {ref(name): value for name, value in facts.items()})


def outcome(decision: Decision) -> str:
    match decision:
        case RunIn(cluster=cluster):
            return cluster
        case Refuse(code=code):
            return code
    raise AssertionError(decision)


ALL_CLUSTERS = (C1, C2, C3)
C1_DOWN = {"clusters": ALL_CLUSTERS, "down": frozenset({C1})}
VIEW = ViewText("SELECT 1", "default")
SHARED = {"a": table(C1, C3), "b": table(C2, C3)}


class Where:
    """A predicate on one key, by its value."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def select(self, partitions: PartitionSet) -> list[int]:
        return [row for value in self.values for row in partitions.rows_with(0, value)]

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [frozenset(self.values), *(None for _ in keys[1:])]


def partitioned(*days: tuple[str, Replicas], primary: ClusterName = C1) -> TableFacts:
    partitions = PartitionSet([PartitionKey("ds", "string")], [(day,) for day, _ in days])
    distinct = tuple(dict.fromkeys(replicas for _, replicas in days))
    groups = [distinct.index(replicas) for _, replicas in days]
    return TableFacts(
        Replicas(primary, frozenset()), PlacedPartitions(partitions, distinct, groups)
    )


HOME, BOTH, AWAY = (
    Replicas(C1, frozenset()),
    Replicas(C1, frozenset({C2})),
    Replicas(C2, frozenset()),
)
FILESYSTEMS = {C1: "hdfs://c1:8020", C2: "file:///data/c2", C3: "file:/data/c3"}
DOWN_THREE: dict[str, object] = {
    "clusters": (C1, C2, C3),
    "down": frozenset({C1}),
    "moves": True,
}
