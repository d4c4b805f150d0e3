"""Causeway's own settings, changed in one session (DC-C3, D4, D13)."""

import json

import pytest

from conf.errors import CausewayError
from conf.names import ClusterName
from conf.topology import Cluster, Endpoint, Topology
from proxy.errors import EndpointNotAllowed, InvalidCommand, UnknownCluster
from proxy.session.own_settings import change, is_ours
from proxy.session.session import SessionState

EAST, WEST = ClusterName("east"), ClusterName("west")
TOPOLOGY = Topology(
    {
        EAST: Cluster(EAST, "file:/e", (Endpoint("e", 1), Endpoint("e", 2))),
        WEST: Cluster(WEST, "file:/w", (Endpoint("w", 1),)),
    },
    EAST,
)
CLUSTERS = "hive.cluster.properties"


def session() -> SessionState:
    return SessionState.opened("ann", 5, {}, TOPOLOGY)


def clusters(**keys: tuple[str, str]) -> str:
    return json.dumps(
        {name: {"FileSystem": fs, "JobTracker": jt} for name, (fs, jt) in keys.items()}
    )


def test_is_ours() -> None:
    assert is_ours(" Hive.Use.Default.Cluster ")
    assert not is_ours("spark.sql.shuffle.partitions")


def test_one_of_a_clusters_endpoints_may_be_chosen_and_others_keep_theirs() -> None:
    ours, theirs = session(), session()
    text = clusters(east=("file:/e/", "e:2"), west=("file:/w", "w:1"))
    assert change(ours, CLUSTERS, text).rows == ((CLUSTERS, text),)
    assert ours.topology.clusters[EAST].hs2 == (Endpoint("e", 2),)
    assert theirs.topology is TOPOLOGY
    change(ours, CLUSTERS, clusters(east=("file:/e", "e:1,e:2")))
    assert ours.topology.clusters[EAST].hs2 == (Endpoint("e", 1), Endpoint("e", 2))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (clusters(east=("file:/e", "evil:1")), EndpointNotAllowed),
        (clusters(east=("file:/e", "w:1")), EndpointNotAllowed),  # west's own: its data differs
        (clusters(east=("file:/other", "e:1")), EndpointNotAllowed),
        (clusters(east=("file:/e", "e:1"), north=("file:/n", "e:1")), UnknownCluster),
        (clusters(west=("file:/w", "w:1")), InvalidCommand),  # the default has to stay
        ("{", InvalidCommand),
        ('{"east": {"FileSystem": "file:/e"}}', InvalidCommand),
    ],
)
def test_other_values_are_refused_and_change_nothing(text: str, error: type[CausewayError]) -> None:
    ours = session()
    with pytest.raises(error):
        change(ours, CLUSTERS, text)
    assert ours.topology is TOPOLOGY


def test_default_cluster_and_whether_it_is_used() -> None:
    ours = session()
    change(ours, "hive.use.default.cluster", "TRUE")
    change(ours, "hive.default.cluster.name", "west")
    assert (ours.topology.use_default, ours.topology.default) == (True, WEST)
    with pytest.raises(UnknownCluster):
        change(ours, "hive.default.cluster.name", "north")
    with pytest.raises(InvalidCommand):
        change(ours, "hive.use.default.cluster", "maybe")


def test_the_priority_of_a_sessions_statements() -> None:
    ours = session()
    for value in ("-100", "7"):
        change(ours, "Causeway.Priority", f" {value} ")
        assert ours.priority == int(value)
    for value in ("", "high", "101", "-101", "1.5", "٣", "9999999999"):
        with pytest.raises(InvalidCommand, match="from -100 to 100"):
            change(ours, "causeway.priority", value)
    assert ours.priority == 7
