"""Every DC-R and DC-U rule, and the specification's 13 examples, as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from conf.catalog.tables import ViewText
from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import (
    ALL,
    NONE,
    Action,
    AddResource,
    ChangeFunction,
    CreateTempFunction,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    Read,
    ResetVariables,
    SetVariable,
    Unknown,
    Write,
)
from router.decision import Decision, Refuse, RunIn
from router.request import Bound, Request, tables_needed
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
    action = Action.INSERT if exists else Action.CREATE
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


@pytest.mark.parametrize(
    ("statement", "in_a", "in_b"),
    [
        pytest.param(select("t11"), "C1", "C1", id="select T11"),
        pytest.param(select("t11", "t12"), "C1", "C1", id="T11 join T12"),
        pytest.param(select("t21"), "C2", "C2", id="select T21"),
        pytest.param(select("t11", "t21"), "CW104", "C2", id="T11 join T21"),
        pytest.param(select("t21", "t11"), "CW104", "C2", id="T21 join T11"),
        pytest.param(select("t11", "t31"), "CW104", "CW104", id="T11 join T31"),
        pytest.param(insert("t13", "t11", exists=False), "C1", "C1", id="new T13 from T11"),
        pytest.param(insert("t21", "t11"), "CW104", "C2", id="insert T21 from T11"),
    ],
)
def test_the_examples_of_the_specification(statement: Known, in_a: str, in_b: str) -> None:
    assert outcome(decide(statement, SCENARIO_A)) == in_a
    assert outcome(decide(statement, SCENARIO_B)) == in_b


ALL_CLUSTERS = (C1, C2, C3)
C1_DOWN = {"clusters": ALL_CLUSTERS, "down": frozenset({C1})}
VIEW = ViewText("SELECT 1", "default")
ANYWHERE = (  # every cluster can do it, and its session has the same afterwards
    select(),
    Known("metadata_read"),
    Known("set"),
    Known("select", effect=None, explain=True),
    Known("set", effect=SetVariable("a", "1")),
    Known("set", effect=ResetVariables()),
    Known("create_view", effect=CreateTempView("v", VIEW)),
    Known("drop", effect=DropTemp("v")),
    Known("ddl_other", effect=CreateTempFunction("f")),
    Known("add", effect=AddResource(("s3a://jars/x.jar",))),
)
DEFAULT_ONLY = (  # it makes or changes what stays in one cluster, or reads its own files
    Known("ddl_other", database_written="new"),
    Known("drop"),
    Known("create_table"),
    Known("create_view", writes=(Write(ref("v"), Action.VIEW, exists=False),)),
    insert("n", exists=False),
    Known("cache", effect=CreateTempTable("t", cached=VIEW)),
    Known("ddl_other", database_written="d", effect=ChangeFunction("d", "f")),
    Known("select", paths_read=("/data",)),
    Known("insert", paths_written=("/data",)),
)


@dataclass(frozen=True)
class Row:
    rule: str
    statement: Known | Unknown
    expected: str
    facts: Mapping[str, TableFacts | None]
    request: dict[str, object]


def row(rule, statement, expected, facts=SCENARIO_B, **request):
    return pytest.param(Row(rule, statement, expected, facts, request), id=f"{rule}-{expected}")


SHARED = {"a": table(C1, C3), "b": table(C2, C3)}


@pytest.mark.parametrize(
    "case",
    [
        row("DC-R2", insert("t11", "t11"), "CW103", pinned=C2),
        row("DC-R3", _both := Known("multi_insert", (Read(ref("t11")),), (
            Write(ref("t12"), Action.INSERT, True), Write(ref("t21"), Action.INSERT, True),
        )), "CW102"),
        row("DC-R3", _both, "CW102", pinned=C1),
        row("DC-R3", _both, "CW102", {
            "t11": table(C1, C2, C3), "t12": table(C1, C3), "t21": table(C2, C3),
        }),
        row("DC-R4", insert("t31", "t11"), "CW104"),
        row("DC-R5", insert("t21"), "C2"),
        row("DC-R7", select("a", "b"), "CW104", SHARED),
        row("DC-U1", select("a", "b"), "C3", SHARED, pinned=C3),
        row("DC-U1", select("t11"), "C2", pinned=C2),
        row("DC-U1", select("t11"), "CW105", pinned=C3),
        row("DC-U1", insert("t21", "t11"), "C2", pinned=C2),
        row("DC-U1", insert("n", "t11", exists=False), "C2", pinned=C2),
        row("D3", insert("n", exists=False), "C1"),
        row("D4", select("t21"), "C2", use_default=True),
        row("D4", select("b"), "C1", {"b": table(C2, C1)}, use_default=True),
        row("D10", select("t21", "t11"), "CW104", SCENARIO_A | {"t11": table(C1, stale=(C2,))}),
        row("down", select("a", "b"), "C2", CROSSED, down=frozenset({C1})),
        row("down", select("a", "b"), "C1", CROSSED, down=frozenset({C1, C2})),
        row("down", select("a", "b"), "C2", CROSSED, down=frozenset({C1}), use_default=True),
        row("down", insert("n", "a", "b", exists=False), "C1", CROSSED, down=frozenset({C1})),
        row("down", select("a"), "C1", CROSSED, down=frozenset({C1})),
        row("down", select("a", "b"), "C1", CROSSED, down=frozenset({C1}), pinned=C1),
        row("down", select("a", "t31"), "CW104", CROSSED, down=frozenset({C1})),
        *(row("D11 down", each, "C2", **C1_DOWN) for each in ANYWHERE),
        *(row("D11 down", each, "C1", **C1_DOWN) for each in DEFAULT_ONLY),
        row("D11 down", select(), "C3", clusters=ALL_CLUSTERS, down=frozenset({C1, C2})),
        row("D11 down", select(), "C1", clusters=ALL_CLUSTERS, down=frozenset({C1, C2, C3})),
        row("D11 down", select(), "C1", clusters=ALL_CLUSTERS, down=frozenset({C2})),
        row("D11 down", select(), "C2", use_default=True, **C1_DOWN),
        row("D11 down", select(), "C1", pinned=C1, **C1_DOWN),
        row("D11 down", select(), "C1", bounds=(Bound(C1, "x"),), **C1_DOWN),
        row("D11 down", select("t12"), "C1", **C1_DOWN),
        row("D11", select(), "C1"),
        row("D11", select(), "C3", pinned=C3),
        row("unknown", Unknown("odd"), "CW101"),
        row("unknown", Unknown("odd", writing=False), "CW101"),
        row("unknown", Unknown("odd", writing=False), "CW101", pinned=C2),
        row("unknown", Unknown("odd", writing=False), "C2", pinned=C2, viewed=frozenset({C2})),
        row("unknown", Unknown("odd"), "CW101", pinned=C2, viewed=frozenset({C2})),
        row("missing table", select("none"), "C1", {"none": None}),
        row("metadata", Known("metadata_read", (Read(ref("t11"), NONE),)), "C3", pinned=C3),
        row("metadata", Known("metadata_read", (Read(ref("t21"), NONE),)), "C2"),
        row("view", Known("drop", (), (Write(ref("v"), Action.VIEW, True),)), "C1",
            {"v": table(C2)}),
        row("bound", select("t11"), "C2", bounds=(Bound(C2, "temporary table x is there"),)),
        row("bound", select("t12"), "CW106", bounds=(Bound(C2, "temporary table x is there"),)),
        row("bound", insert("t11"), "CW106", bounds=(Bound(C2, "temporary table x is there"),)),
        row("bound", select(), "CW106", bounds=(Bound(C2, "x"),), pinned=C1),
        row("bound", select(), "CW106", bounds=(Bound(C1, "x"), Bound(C2, "y"))),
        row("bound", select(), "C1", bounds=(Bound(C1, "x"), Bound(C1, "y"))),
        row("bound", Unknown("odd", writing=False), "CW106", bounds=(Bound(C1, "x"),), pinned=C2,
            viewed=frozenset({C2})),
    ],
)  # fmt: skip
def test_rules(case: Row) -> None:
    assert outcome(decide(case.statement, case.facts, **case.request)) == case.expected


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
DAYS = {"p": partitioned(("1", HOME), ("2", BOTH), ("3", AWAY)), "t21": table(C2)}


def read_days(*days: str) -> Known:
    return Known("select", (Read(ref("p"), Where(*days) if days else ALL), Read(ref("t21"))))


@pytest.mark.parametrize(
    ("days", "expected"), [(["2"], "C2"), (["3"], "C2"), (["2", "3"], "C2"), (["1"], "CW104")]
)
def test_only_the_partitions_read_have_to_be_there(days: list[str], expected: str) -> None:
    assert outcome(decide(read_days(*days), DAYS)) == expected
    assert outcome(decide(read_days(*days), DAYS, coverage=Coverage.TABLE)) == "CW104"


def test_the_refusal_names_each_cluster_with_the_first_missing_partitions_and_a_count() -> None:
    many = {"p": partitioned(*((str(day), HOME) for day in range(5))), "t21": table(C2)}
    decision = decide(read_days(), many)
    assert isinstance(decision, Refuse)
    assert "C1: default.t21 is missing" in decision.because
    assert "C2: default.p has 5 partitions missing: ds=0, ds=1, ds=2, .." in decision.because


def test_a_stale_copy_is_called_stale() -> None:
    decision = decide(select("t11"), {"t11": table(C1, stale=(C2,))}, pinned=C2)
    assert isinstance(decision, Refuse)
    assert "default.t11 is stale" in decision.because


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(ref("p"), Action.INSERT, True, Where("1"), ((("ds", "1"),),)), "C1"),
        (Write(ref("p"), Action.INSERT, True, Where("3"), ((("ds", "3"),),)), "C2"),
        (Write(ref("p"), Action.INSERT, True, Where("9"), ((("ds", "9"),),)), "C1"),
        (Write(ref("p"), Action.INSERT, True, Where("3"), (), dynamic=True), "CW102"),
        (Write(ref("p"), Action.INSERT, True, ALL), "CW102"),
        (Write(ref("p"), Action.DROP, True, ALL), "CW102"),
        (Write(ref("p"), Action.ALTER, True, ALL), "C1"),
        (Write(ref("p"), Action.ALTER, True, Where("3"), ((("ds", "3"),),)), "C2"),
    ],
)
def test_a_partition_is_written_in_its_own_primary(write: Write, expected: str) -> None:
    assert outcome(decide(Known("insert", (), (write,)), DAYS)) == expected


FILESYSTEMS = {C1: "hdfs://c1:8020", C2: "file:///data/c2", C3: "file:/data/c3"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("hdfs://c1:8020/x", "C1"),
        ("file:/data/c2/x", "C2"),
        ("FILE:///data/c3", "C3"),
        ("file:///data/c22/x", "C1"),
        ("s3a://bucket/x", "C1"),
        ("/x", "C1"),
        ("/data/c2/x", "C2"),
        ("file:/data/c3/../c2//x", "C2"),
        ("file:/data/c1/%2e%2e/c2", "C2"),
        ("hdfs://C1/x", "C1"),
        ("webhdfs://me@c1.example.:9870/x", "C1"),
    ],
)
def test_a_path_in_a_clusters_file_system_is_read_there(path: str, expected: str) -> None:
    statement = Known("select", paths_read=(path,))
    assert outcome(decide(statement, {}, filesystems=FILESYSTEMS)) == expected


def test_a_path_elsewhere_than_the_output_is_refused() -> None:
    statement = Known(
        "load", (), (Write(ref("t11"), Action.INSERT, True),), paths_read=("file:/data/c2/x",)
    )
    assert outcome(decide(statement, filesystems=FILESYSTEMS)) == "CW104"


def test_a_host_in_other_words_is_not_shared_storage() -> None:
    """A write of C2's table from a folder of C1, however its host is spelled."""
    for path in ("hdfs://C1/x", "hdfs://c1.:8020/x", "webhdfs://u@c1.example/x", "hdfs://c1:9/x"):
        write = Write(ref("t21"), Action.INSERT, True)
        statement = Known("load", (), (write,), paths_read=(path,))
        assert outcome(decide(statement, filesystems=FILESYSTEMS)) == "CW104", path


def test_a_table_that_was_never_looked_up_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        decide(select("t11"), {})


def test_tables_needed_are_what_is_read_and_what_exists_of_what_is_written() -> None:
    assert tables_needed(insert("n", "t11", exists=False)) == {ref("t11")}
    assert tables_needed(insert("t21", "t11")) == {ref("t11"), ref("t21")}
    assert tables_needed(Unknown("x")) == frozenset()


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
def test_a_read_that_a_cluster_lost_runs_where_all_its_inputs_are(
    statement: Known, request_: dict[str, object], expected: ClusterName
) -> None:
    assert outcome(decide(statement, **THREE | request_)) == expected


DOWN_THREE: dict[str, object] = {
    "clusters": (C1, C2, C3),
    "down": frozenset({C1}),
    "moves": True,
}


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
def test_a_query_whose_clusters_are_down_runs_where_all_its_inputs_are(
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
