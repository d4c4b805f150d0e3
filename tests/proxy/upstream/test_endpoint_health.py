"""Which Thrift Server a new session gets: the well before the ill, the idle before the busy."""

import pytest

from conf.topology import Cluster, Endpoint
from proxy.errors import ClusterDown
from proxy.upstream.endpoint_health import Fleet
from tests.proxy.fakes import EAST

A, B, C = (Endpoint("h", port) for port in (1, 2, 3))
CLUSTER = Cluster(EAST, "file:/e", (A, B, C))


def choose(fleet: Fleet, **loads: int) -> list[Endpoint]:
    return fleet.choose(CLUSTER, lambda each: loads.get("abc"[each.port - 1], 0))


def test_the_least_loaded_first_and_the_ill_last() -> None:
    fleet = Fleet()
    assert choose(fleet) == [A, B, C]
    assert choose(fleet, a=2, b=1, c=3) == [B, A, C]
    fleet.ill(B, "no answer")
    assert choose(fleet, a=2, b=1, c=3) == [A, C, B]
    fleet.well(B)
    assert choose(fleet, a=2, b=1, c=3) == [B, A, C]
    assert fleet.choose(CLUSTER, lambda each: 0, [A, C]) == [B]


def test_what_is_drained_gets_nothing_new() -> None:
    fleet = Fleet()
    fleet.drain(A)
    assert choose(fleet) == [B, C]
    for each in (B, C):
        fleet.drain(each)
    with pytest.raises(ClusterDown, match="All Thrift Servers of cluster east are drained"):
        choose(fleet)
    fleet.resume(C)
    assert choose(fleet) == [C]
    fleet.drain(EAST)
    assert fleet.is_down(CLUSTER)
    with pytest.raises(ClusterDown, match="Cluster east is drained"):
        choose(fleet)
    fleet.resume(EAST)
    assert choose(fleet) == [C]


def test_a_cluster_is_down_when_all_of_it_is() -> None:
    fleet = Fleet()
    fleet.ill(A, "")
    fleet.drain(B)
    assert not fleet.is_down(CLUSTER)  # nobody has tried C
    fleet.ill(C, "")
    assert fleet.is_down(CLUSTER)
    fleet.resume(B)
    assert not fleet.is_down(CLUSTER)


def test_where_it_is_better() -> None:
    fleet = Fleet()
    fleet.ill(A, "")
    assert not fleet.is_better_elsewhere(CLUSTER, A)
    fleet.well(B)
    assert fleet.is_better_elsewhere(CLUSTER, A)
    assert not fleet.is_better_elsewhere(CLUSTER, C)
    fleet.drain(B)
    assert not fleet.is_better_elsewhere(CLUSTER, A)


def test_what_is_not_configured_any_more_is_forgotten() -> None:
    fleet = Fleet()
    fleet.ill(A, "gone")
    fleet.drain(A)
    fleet.drain(EAST)
    fleet.keep([B])
    assert fleet.condition(A).up is None
    assert not fleet.is_drained(A)
    assert fleet.is_drained(EAST)
