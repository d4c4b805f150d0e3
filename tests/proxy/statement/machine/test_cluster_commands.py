"""The results of Causeway's own statements."""

from dataclasses import replace

import pytest

from conf.copies import TableCopies
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement
from conf.topology import Cluster, Endpoint, Topology
from conf.write_ids import new_id, with_time
from dialect.grammar.cluster_statements import CopyTable
from proxy.errors import InvalidCommand, UnknownCluster
from proxy.session.session import SessionState
from proxy.statement.machine import cluster_commands as commands
from proxy.statement.machine.commands import MakeCopy
from router.report import DecisionReport
from router.table_states import Presence, TableState

EAST, WEST = ClusterName("east"), ClusterName("west")
TOPOLOGY = Topology(
    {
        EAST: Cluster(EAST, "file:/e", (Endpoint("e", 1), Endpoint("e", 2))),
        WEST: Cluster(WEST, "file:/w", (Endpoint("w", 1),)),
    },
    EAST,
)


def test_pin_and_release() -> None:
    ours, other = (SessionState.opened("ann", 5, {}, TOPOLOGY) for _ in range(2))
    assert commands.use_cluster(ours, "west").rows == ()
    assert commands.show_current_cluster(ours).rows == (("west",),)
    with pytest.raises(UnknownCluster, match="'north'; there are east, west"):
        commands.use_cluster(ours, "north")
    assert ours.pinned == WEST  # DC-U3
    assert other.pinned is None  # DC-U4
    commands.reset_cluster(ours)
    assert commands.show_current_cluster(ours).rows == ((None,),)


def test_show_clusters() -> None:
    session = SessionState.opened("ann", 5, {}, TOPOLOGY)
    commands.use_cluster(session, "west")
    assert commands.show_clusters(session).rows == (
        ("east", "file:/e", "e:1,e:2", "true", "false", None),
        ("west", "file:/w", "w:1", "false", "true", None),
    )
    checked = commands.show_clusters(session, lambda cluster: cluster.name == "east").rows
    assert [row[-1] for row in checked] == ["true", "false"]


def test_explain() -> None:
    report = DecisionReport("run", "east", "inputs", "why", ("d.a", "d.b@ds=1"), ("d.c",))
    assert commands.explain(report).rows == (
        ("run", "east", "inputs", "why", "d.a, d.b@ds=1", "d.c", None),
    )


def test_explain_extended() -> None:
    table = TableRef("d", "t")
    states = (
        TableState(table, EAST, Presence.PRIMARY),
        TableState(table, WEST, Presence.ABSENT, 4, 0, 2, 1, 1, ("ds=1", "ds=3")),
    )
    shown = commands.explain_extended(states)
    assert shown.columns[:4] == ("table", "cluster", "state", "partitions")
    unknown = (None,) * 5
    assert shown.rows == (
        ("d.t", "east", "primary", None, None, None, None, None, "", *unknown),
        ("d.t", "west", "absent", "4", "0", "2", "1", "1", "ds=1, ds=3", *unknown),
    )


def test_show_copies() -> None:
    ref, missed = TableRef("d", "t"), with_time(new_id(), 100.0)
    notes = {"at": 50.0, "files": 2, "bytes": 70}
    stale = Placement(EAST, "new", (Copy(WEST, "file:/w", "0/old", {**notes, "missed": missed}),))
    stale = replace(stale, table_write="0")
    fresh = replace(stale, write="old")
    table = TableCopies(
        ref, Placement(EAST), {"ds=1": stale, "ds=2": fresh, "ds=3": Placement(EAST)}
    )
    summed = commands.show_copies([table], partitions=False, now=160.0)
    rows = [dict(zip(summed.columns, row, strict=True)) for row in summed.rows]
    assert [(row["cluster"], row["state"], row["bytes"]) for row in rows] == [
        ("east", "primary", None),
        ("west", "absent", "140"),
    ]
    assert rows[1] == {
        "table": "d.t",
        "partition": None,
        "cluster": "west",
        "state": "absent",
        "primary": "0",
        "fresh": "1",
        "stale": "1",
        "absent": "1",
        "stale_since": "1970-01-01T00:01:40.000Z",
        "lag": "60.0",
        "unknown": "0",
        "copied": "1970-01-01T00:00:50.000Z",
        "files": "4",
        "bytes": "140",
    }
    each = commands.show_copies([table], partitions=True, now=160.0).rows[2:]
    assert [(row[1], row[2], row[3]) for row in each] == [
        ("ds=1", "east", "primary"),
        ("ds=1", "west", "stale"),
        ("ds=2", "east", "primary"),
        ("ds=2", "west", "fresh"),
    ]


def test_show_statements() -> None:
    names = ("statement", "time", "text", "state", "cluster", "rule", "because", "code", "error")
    found = {name: name for name in names} | {"seconds": 0.5, "rows": None, "user": "ann"}
    row = ("statement", "time", "text", "state", "0.5", "cluster", "rule", "because", "code")
    assert commands.show_statements([found]).rows == ((*row, None, "error"),)


def test_a_copy_names_a_thousand_partitions_at_most() -> None:
    session = SessionState.opened("ann", 5, {}, TOPOLOGY)
    days = tuple((("ds", str(day)),) for day in range(1_001))
    most, more = (CopyTable("d", "t", some, "west", "east") for some in (days[1:], days))
    assert commands.begin(most, session, lambda _: None, can_copy=True) == MakeCopy(most)
    with pytest.raises(InvalidCommand, match=r"1,001 partitions.* 1,000 at most"):
        commands.begin(more, session, lambda _: None, can_copy=True)
