"""Our own statements' answers."""

import pytest

from conf.names import ClusterName, TableRef
from conf.topology import Cluster, Endpoint, Topology
from proxy.errors import UnknownCluster
from proxy.session.session import SessionState
from proxy.statement import cluster_commands as commands
from router.report import Report
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
    report = Report("run", "east", "DC-R7", "why", ("d.a", "d.b@ds=1"), ("d.c",))
    assert commands.explain(report).rows == (
        ("run", "east", "DC-R7", "why", "d.a, d.b@ds=1", "d.c", None),
    )


def test_explain_extended() -> None:
    table = TableRef("d", "t")
    states = (
        TableState(table, EAST, Presence.PRIMARY),
        TableState(table, WEST, Presence.ABSENT, 4, 0, 2, 1, 1, ("ds=1", "ds=3")),
    )
    shown = commands.explain_extended(states)
    assert shown.columns[:4] == ("table", "cluster", "state", "partitions")
    assert shown.rows == (
        ("d.t", "east", "primary", None, None, None, None, None, ""),
        ("d.t", "west", "absent", "4", "0", "2", "1", "1", "ds=1, ds=3"),
    )
