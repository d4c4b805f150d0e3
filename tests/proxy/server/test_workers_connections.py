"""What the limits on connections mean for each of several workers."""

from proxy.counters import SharedCounters, shared_size
from proxy.limits import Limits
from proxy.operations.metrics import Metrics
from proxy.server.connection_limiter import ConnectionLimiter

FEW = Limits(new_connections=10, new_connections_per_address=6)


class Silent:
    """A client's connection that sends nothing."""

    authenticating = sessions_outlive = False
    peer = ""
    aborted = False

    def abort(self) -> None:
        self.aborted = True


def two_limiters() -> list[ConnectionLimiter]:
    memory = memoryview(bytearray(shared_size(2)))
    return [
        ConnectionLimiter(FEW, Metrics(), SharedCounters(memory, number, 2), workers=2)
        for number in range(2)
    ]


def test_silent_clients_of_one_worker_keep_no_client_of_another_out() -> None:
    one, other = two_limiters()
    for number in range(30):
        assert one.begin_handshake(Silent(), f"10.0.0.{number}")  # type: ignore[arg-type]
    newcomer = Silent()
    assert other.begin_handshake(newcomer, "10.0.1.1")  # type: ignore[arg-type]
    assert other.admit(newcomer)  # type: ignore[arg-type]
    assert not newcomer.aborted


def test_the_workers_together_have_the_places_of_the_limits() -> None:
    many = [Silent() for _ in range(40)]
    limiters = two_limiters()
    for number, each in enumerate(many):
        limiters[number % 2].begin_handshake(each, f"10.0.0.{number}")  # type: ignore[arg-type]
    assert sum(not each.aborted for each in many) == FEW.new_connections
    same = [Silent() for _ in range(40)]
    limiters = two_limiters()
    for number, each in enumerate(same):
        limiters[number % 2].begin_handshake(each, "10.0.0.1")  # type: ignore[arg-type]
    assert sum(not each.aborted for each in same) == FEW.new_connections_per_address
