"""Every DC-R and DC-U rule, and the specification's 13 examples, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from conf.partitions import TableFacts
from dialect.statement import (
    NONE,
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
    WriteAction,
)
from router.decision import Refuse
from router.request import Bound, tables_needed
from tests.router.cases import (
    ALL_CLUSTERS,
    C1,
    C1_DOWN,
    C2,
    C3,
    CROSSED,
    FILESYSTEMS,
    SCENARIO_A,
    SCENARIO_B,
    SHARED,
    VIEW,
    decide,
    insert,
    outcome,
    ref,
    select,
    table,
)


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
    Known("create_view", writes=(Write(ref("v"), WriteAction.VIEW, exists=False),)),
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


@pytest.mark.parametrize(
    "case",
    [
        row("DC-R2", insert("t11", "t11"), "CW103", pinned=C2),
        row("DC-R3", _both := Known("multi_insert", (Read(ref("t11")),), (
            Write(ref("t12"), WriteAction.INSERT, True),
            Write(ref("t21"), WriteAction.INSERT, True),
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
        row("view", Known("drop", (), (Write(ref("v"), WriteAction.VIEW, True),)), "C1",
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


def test_a_stale_copy_is_called_stale() -> None:
    decision = decide(select("t11"), {"t11": table(C1, stale=(C2,))}, pinned=C2)
    assert isinstance(decision, Refuse)
    assert "default.t11 is stale" in decision.because


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


def test_a_path_in_another_cluster_than_the_output_is_refused() -> None:
    statement = Known(
        "load", (), (Write(ref("t11"), WriteAction.INSERT, True),), paths_read=("file:/data/c2/x",)
    )
    assert outcome(decide(statement, filesystems=FILESYSTEMS)) == "CW104"


def test_another_spelling_of_a_host_is_not_shared_storage() -> None:
    """A write of C2's table from a folder of C1, in every spelling of its host."""
    for path in ("hdfs://C1/x", "hdfs://c1.:8020/x", "webhdfs://u@c1.example/x", "hdfs://c1:9/x"):
        write = Write(ref("t21"), WriteAction.INSERT, True)
        statement = Known("load", (), (write,), paths_read=(path,))
        assert outcome(decide(statement, filesystems=FILESYSTEMS)) == "CW104", path


def test_route_raises_keyerror_for_a_table_that_was_not_looked_up() -> None:
    with pytest.raises(KeyError):
        decide(select("t11"), {})


def test_tables_needed_are_those_read_and_existing_ones_written() -> None:
    assert tables_needed(insert("n", "t11", exists=False)) == {ref("t11")}
    assert tables_needed(insert("t21", "t11")) == {ref("t11"), ref("t21")}
    assert tables_needed(Unknown("x")) == frozenset()
