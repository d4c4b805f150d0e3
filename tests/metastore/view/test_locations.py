import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_partition_placement, write_placement
from conf.topology import Cluster, Topology
from metastore.view.locations import ClusterView, moved

C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))


def topology(*filesystems: str) -> Topology:
    names = (C1, C2, C3)[: len(filesystems)]
    pairs = zip(names, filesystems, strict=True)
    return Topology({name: Cluster(name, place, ()) for name, place in pairs}, default=C1)


HDFS = topology("hdfs://one:8020", "hdfs://two:8020/")
FILES = topology("file:///w/one", "file:///w/two", "file:///w/one/inside")


@pytest.mark.parametrize(
    ("clusters", "location", "target", "expected"),
    [
        (HDFS, "hdfs://one:8020/wh/d.db", C2, "hdfs://two:8020/wh/d.db"),
        (HDFS, "hdfs://two:8020/wh/d.db", C1, "hdfs://one:8020/wh/d.db"),
        (HDFS, "hdfs://one:8020/wh/d.db", C1, "hdfs://one:8020/wh/d.db"),
        (HDFS, "hdfs://one:8020", C2, "hdfs://two:8020"),
        (HDFS, "/wh/d.db", C2, "hdfs://two:8020/wh/d.db"),
        (HDFS, "s3://shared/wh", C2, "s3://shared/wh"),
        (HDFS, "hdfs://one:80201/wh", C2, "hdfs://one:80201/wh"),
        (HDFS, "hdfs://ONE/wh//d.db", C2, "hdfs://two:8020/wh/d.db"),
        (HDFS, "hdfs://me@one.example:8020/wh", C2, "hdfs://two:8020/wh"),
        (FILES, "file:/w/one/../two/d.db", C1, "file:/w/one/d.db"),
        (FILES, "file:/w/one/d.db", C2, "file:/w/two/d.db"),
        (FILES, "file:///w/one/d.db", C2, "file:///w/two/d.db"),
        (FILES, "file:/w/one/inside/d.db", C2, "file:/w/two/d.db"),
        (FILES, "file:/w/onerous/d.db", C2, "file:/w/onerous/d.db"),
        (HDFS, "hdfs://one:8020/wh", ClusterName("absent"), "hdfs://one:8020/wh"),
    ],
)
def test_moved(clusters: Topology, location: str, target: ClusterName, expected: str) -> None:
    assert moved(location, clusters, target) == expected


def test_moving_there_and_back_gives_the_same_location() -> None:
    for cluster in (C1, C2):
        view = ClusterView(cluster, HDFS)
        own = view.warehouse_location("hdfs://one:8020/wh/d.db")
        assert view.shared_location(own) == "hdfs://one:8020/wh/d.db"


def test_foreign_is_what_the_metastore_will_not_move() -> None:
    view = ClusterView(C2, FILES)
    assert view.is_foreign("file:/w/two/d.db/t")
    assert not view.is_foreign("file:/w/one/d.db/t")
    assert not view.is_foreign("s3://shared/t")


_ids = st.sampled_from(["0", "w1"])
_clusters = st.sampled_from([C1, C2, C3])


@given(_clusters, _ids, _clusters, _ids, st.lists(st.tuples(_clusters, _ids, _ids)), _clusters)
def test_a_partition_s_copy_is_found_as_its_placement_says(
    owner: ClusterName,
    table_write: str,
    primary: ClusterName,
    write: str,
    copies: list[tuple[ClusterName, str, str]],
    asking: ClusterName,
) -> None:
    """The quick way against the one that reads everything."""
    table, own = Placement(owner, table_write), Placement(primary, write)
    for cluster, under, of in copies:
        own = own.with_copy(Copy(cluster, f"hdfs://x/{cluster}", f"{under}/{of}"))
    view, parameters = ClusterView(asking, HDFS), write_placement(own)
    if primary == owner:
        del parameters["causeway.primary"]  # it is the table's
    slow = view.local_copy(parameters, lambda own, _: read_partition_placement(own, table, "ds=1"))
    assert view.local_partition_copy(parameters, table) == slow


@pytest.mark.parametrize("text", ["nonsense", "{}", '{"location": "x"}'])
def test_an_unreadable_copy_is_none(text: str) -> None:
    view = ClusterView(C2, HDFS)
    assert view.local_partition_copy({"causeway.copy.c2": text}, Placement(C1)) is None
