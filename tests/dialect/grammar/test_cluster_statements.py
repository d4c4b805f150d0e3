"""Cluster statements are recognised, and other texts are not (DC-U1, DC-U2, DC-P1, D8)."""

import pytest

from dialect.grammar.cluster_statements import (
    CopyTable,
    ExplainCluster,
    ResetCluster,
    ShowClusters,
    ShowCopies,
    ShowCurrentCluster,
    ShowStatements,
    UseCluster,
    parse,
)

OURS = [
    ("USE CLUSTER", ResetCluster()),
    ("  use /* c */ cluster -- x\n;", ResetCluster()),
    ("use cluster dc-1;", UseCluster("dc-1")),
    ("USE CLUSTER `Dc 1`", UseCluster("Dc 1")),
    ("use cluster 'x'", UseCluster("x")),
    ("use cluster east.eu", UseCluster("east.eu")),
    ("use cluster 1st", UseCluster("1st")),
    ("SHOW CLUSTERS", ShowClusters()),
    ("show current\tcluster ;", ShowCurrentCluster()),
    ("SHOW STATEMENTS", ShowStatements()),
    ("show /* my */ statements limit 20;", ShowStatements(20)),
    ("SHOW COPIES", ShowCopies()),
    ("show copies in Sales;", ShowCopies("sales")),
    ("SHOW COPIES FROM `Sales`", ShowCopies("sales")),
    ("show copies of Orders", ShowCopies(None, "orders")),
    ("show copies of sales.orders", ShowCopies("sales", "orders")),
    ("explain cluster select 1 from `x` ; ", ExplainCluster("select 1 from `x`")),
    ("explain CLUSTER Extended\nselect 1", ExplainCluster("select 1", extended=True)),
    (
        "alter table A.b partition (ds='x', hr=11) copy C1 to c2",
        CopyTable("a", "b", ((("ds", "x"), ("hr", "11")),), "C1", "c2"),
    ),
    (
        "alter table b partition (ds='x'), partition (ds='y', hr=1) copy C1 to c2",
        CopyTable(None, "b", ((("ds", "x"),), (("ds", "y"), ("hr", "1"))), "C1", "c2"),
    ),
    ("ALTER TABLE t COPY C1 TO `C2`;", CopyTable(None, "t", (), "C1", "C2")),
    ("EXPLAIN CLUSTER BEGIN SELECT 1; END;", ExplainCluster("BEGIN SELECT 1; END", False)),
    ("explain cluster extended BEGIN SELECT 1; END", ExplainCluster("BEGIN SELECT 1; END", True)),
]
THEIRS = [
    "",
    "use `cluster`",
    "use cluster a b",
    "use clusterx",
    "use x",
    "SHOW CLUSTERS LIKE 'x'",
    "show current database",
    "show statements limit",
    "show statements limit '5'",
    "show statements limit 5 5",
    "show `statements`",
    f"show statements limit {'9' * 5000}",
    "SHOW COPIES LIKE 'x'",
    "SHOW COPIES IN a.b",
    "SHOW COPIES OF a.b.c",
    "SHOW COPIES OF",
    "EXPLAIN CLUSTER",
    "EXPLAIN CLUSTER EXTENDED",
    "EXPLAIN CLUSTER SELECT 1; SELECT 2",
    "select 'use cluster'",
    "-- use cluster\nselect 1",
    "alter table t partition (ds) copy c1 to c2",
    "alter table t partition () copy c1 to c2",
    "alter table t partition (ds='a', ds='b') copy c1 to c2",
    "alter table t partition (ds='a'), copy c1 to c2",
    "alter table t partition (ds='a') partition (ds='b') copy c1 to c2",
    "alter table t, partition (ds='a') copy c1 to c2",
    "alter table t copy c1",
    "alter table t rename to copy",
    "use cluster 'unclosed",
]


@pytest.mark.parametrize(("sql", "command"), OURS, ids=[sql for sql, _ in OURS])
def test_cluster_statements_are_parsed(sql: str, command: object) -> None:
    assert parse(sql, in_use=True) == command


@pytest.mark.parametrize(("sql", "_command"), OURS, ids=[sql for sql, _ in OURS])
def test_there_are_no_cluster_statements_without_clusters(sql: str, _command: object) -> None:
    assert parse(sql, in_use=False) is None


@pytest.mark.parametrize("sql", THEIRS)
def test_other_statements_are_no_cluster_statements(sql: str) -> None:
    assert parse(sql, in_use=True) is None
