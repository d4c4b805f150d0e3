"""The order of Thrift Servers for new sessions: least loaded first, those that are down last."""

from time import monotonic

import pytest

from conf.topology import Cluster, Endpoint
from proxy.errors import ClusterDown
from proxy.upstream.endpoint_health import EndpointHealth
from tests.proxy.fakes import EAST

A, B, C = (Endpoint("h", port) for port in (1, 2, 3))
CLUSTER = Cluster(EAST, "file:/e", (A, B, C))


def choose(health: EndpointHealth, **loads: int) -> list[Endpoint]:
    return health.choose(CLUSTER, lambda each: loads.get("abc"[each.port - 1], 0))


def test_the_least_loaded_endpoint_comes_first_and_those_down_last() -> None:
    health = EndpointHealth()
    assert choose(health) == [A, B, C]
    assert choose(health, a=2, b=1, c=3) == [B, A, C]
    health.mark_down(B, "no answer")
    assert choose(health, a=2, b=1, c=3) == [A, C, B]
    health.mark_up(B, monotonic())
    assert choose(health, a=2, b=1, c=3) == [B, A, C]
    assert health.choose(CLUSTER, lambda each: 0, [A, C]) == [B]


def test_drained_endpoints_get_no_new_sessions() -> None:
    health = EndpointHealth()
    health.drain(A)
    assert choose(health) == [B, C]
    for each in (B, C):
        health.drain(each)
    with pytest.raises(ClusterDown, match="All Thrift Servers of cluster east are drained"):
        choose(health)
    health.resume(C)
    assert choose(health) == [C]
    health.drain(EAST)
    assert health.is_down(CLUSTER)
    with pytest.raises(ClusterDown, match="Cluster east is drained"):
        choose(health)
    health.resume(EAST)
    assert choose(health) == [C]


def test_a_cluster_is_down_if_all_its_endpoints_are() -> None:
    health = EndpointHealth()
    health.mark_down(A, "")
    health.drain(B)
    assert not health.is_down(CLUSTER)  # C has not been tried
    health.mark_down(C, "")
    assert health.is_down(CLUSTER)
    health.resume(B)
    assert not health.is_down(CLUSTER)


def test_an_answer_to_a_request_from_before_the_server_was_found_down_is_ignored() -> None:
    """The server was killed while the answer to a health check was on its way."""
    health = EndpointHealth()
    asked = monotonic()
    health.mark_up(A, asked)
    health.mark_down(A, "killed")
    health.mark_up(A, asked, 0.1)
    assert health.condition(A).up is False
    assert (health.condition(A).reason, health.condition(A).seconds) == ("killed", None)
    health.mark_up(A, monotonic(), 0.2)
    assert health.condition(A).up is True
    assert (health.condition(A).reason, health.condition(A).seconds) == ("", 0.2)


def test_another_endpoint_is_better_if_this_one_is_down() -> None:
    health = EndpointHealth()
    health.mark_down(A, "")
    assert not health.is_better_elsewhere(CLUSTER, A)
    health.mark_up(B, monotonic())
    assert health.is_better_elsewhere(CLUSTER, A)
    assert not health.is_better_elsewhere(CLUSTER, C)
    health.drain(B)
    assert not health.is_better_elsewhere(CLUSTER, A)


def test_endpoints_that_are_no_longer_configured_are_forgotten() -> None:
    health = EndpointHealth()
    health.mark_down(A, "gone")
    health.drain(A)
    health.drain(EAST)
    health.keep([B])
    assert health.condition(A).up is None
    assert not health.is_drained(A)
    assert health.is_drained(EAST)
