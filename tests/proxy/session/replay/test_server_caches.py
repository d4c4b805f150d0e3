"""The list of cached tables that all processes of the proxy share."""

from conf.catalog.tables import ViewText
from conf.names import ClusterName, TableRef
from conf.placement import OpenWrite, Placement
from conf.topology import Endpoint
from dialect.statement import CacheTable, CreateTempTable, UncacheTable
from proxy.session.replay.function_changes import FunctionChanges, shared_size
from proxy.session.replay.server_caches import ServerCaches, caches_rows

EAST, WEST = Endpoint("east", 1), Endpoint("west", 1)
T, U = TableRef("d", "t"), TableRef("d", "u")
OLD, NEW = (Placement(ClusterName("east"), write) for write in ("w1", "w2"))


def processes(size: int = 2) -> list[ServerCaches]:
    memory = memoryview(bytearray(shared_size(size)))
    return [ServerCaches(FunctionChanges(memory, number, size)) for number in range(size)]


def test_only_another_version_of_a_cached_table_clears_only_that_server() -> None:
    one, other = processes()
    assert one.stale(WEST, {T: OLD}) is None
    one.record(WEST, {T: OLD})
    for each in (one, other):
        assert each.stale(WEST, {T: OLD}) is None
        assert each.stale(WEST, {U: NEW}) is None
        assert each.stale(EAST, {T: NEW}) is None
        assert each.stale(WEST, {T: None}) is not None
        stale = each.stale(WEST, {U: OLD, T: NEW})
        assert stale is not None
        each.cleared(WEST, stale)
        assert each.stale(WEST, {T: NEW}) is None


def test_a_new_process_reads_the_records_of_earlier_caching() -> None:
    memory = memoryview(bytearray(shared_size(1)))
    ServerCaches(FunctionChanges(memory, 0, 1)).record(WEST, {T: OLD})
    assert ServerCaches(FunctionChanges(memory, 0, 1)).stale(WEST, {T: NEW}) is not None


def test_a_table_cached_while_the_cache_is_cleared_is_cleared_again() -> None:
    (caches,) = processes(1)
    caches.record(WEST, {T: OLD})
    stale = caches.stale(WEST, {T: NEW})
    assert stale is not None
    caches.record(WEST, {T: OLD})
    caches.cleared(WEST, stale)
    assert caches.stale(WEST, {T: NEW}) is not None


def test_rows_cached_during_a_write_have_no_version() -> None:
    (caches,) = processes(1)
    writing = Placement(ClusterName("east"), "w1", open=(OpenWrite("x"),))
    caches.record(WEST, {T: writing})
    assert caches.stale(WEST, {T: writing}) is not None


def test_after_too_many_records_any_table_may_be_cached() -> None:
    one, other = processes()
    for number in range(3000):
        one.record(WEST, {TableRef("d", f"t{number}"): OLD})
    for server in (WEST, EAST):
        stale = other.stale(server, {U: OLD})
        assert stale is not None
        other.cleared(server, stale)
        assert other.stale(server, {U: OLD}) is None
        assert other.stale(server, {}) is None


def test_statements_that_cache_rows() -> None:
    assert caches_rows(CacheTable("d.t"))
    assert caches_rows(CreateTempTable("v", cached=ViewText("SELECT 1", "d")))
    assert not caches_rows(CreateTempTable("v", ("/files",)))
    assert not caches_rows(UncacheTable(None))
    assert not caches_rows(None)


def test_each_server_is_cleared_once_by_one_process_after_the_proxy_started() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    changes = [FunctionChanges(memory, number, 2) for number in range(2)]
    one, other = (ServerCaches(each, used_before=True) for each in changes)
    for server in (EAST, WEST):
        stale = one.stale(server, {T: OLD})
        assert stale is not None
        one.cleared(server, stale)
        for each in (one, other):
            assert each.stale(server, {T: OLD}) is None
