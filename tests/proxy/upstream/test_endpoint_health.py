"""Which Thrift Server a new session gets: the well before the ill, the idle before the busy."""

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


def test_the_least_loaded_first_and_the_ill_last() -> None:
    health = EndpointHealth()
    assert choose(health) == [A, B, C]
    assert choose(health, a=2, b=1, c=3) == [B, A, C]
    health.mark_down(B, "no answer")
    assert choose(health, a=2, b=1, c=3) == [A, C, B]
    health.mark_up(B, monotonic())
    assert choose(health, a=2, b=1, c=3) == [B, A, C]
    assert health.choose(CLUSTER, lambda each: 0, [A, C]) == [B]


def test_what_is_drained_gets_nothing_new() -> None:
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


def test_a_cluster_is_down_when_all_of_it_is() -> None:
    health = EndpointHealth()
    health.mark_down(A, "")
    health.drain(B)
    assert not health.is_down(CLUSTER)  # C has not been tried
    health.mark_down(C, "")
    assert health.is_down(CLUSTER)
    health.resume(B)
    assert not health.is_down(CLUSTER)


def test_an_answer_to_what_was_asked_before_a_server_was_found_down_says_nothing() -> None:
    """The answer to a check was under way when the server was killed."""
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


def test_where_it_is_better() -> None:
    health = EndpointHealth()
    health.mark_down(A, "")
    assert not health.is_better_elsewhere(CLUSTER, A)
    health.mark_up(B, monotonic())
    assert health.is_better_elsewhere(CLUSTER, A)
    assert not health.is_better_elsewhere(CLUSTER, C)
    health.drain(B)
    assert not health.is_better_elsewhere(CLUSTER, A)


def test_what_is_not_configured_any_more_is_forgotten() -> None:
    health = EndpointHealth()
    health.mark_down(A, "gone")
    health.drain(A)
    health.drain(EAST)
    health.keep([B])
    assert health.condition(A).up is None
    assert not health.is_drained(A)
    assert health.is_drained(EAST)
