import pytest

from conf.names import ClusterName
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
        (FILES, "file:/w/one/d.db", C2, "file:/w/two/d.db"),
        (FILES, "file:///w/one/d.db", C2, "file:///w/two/d.db"),
        (FILES, "file:/w/one/inside/d.db", C2, "file:/w/two/d.db"),
        (FILES, "file:/w/onerous/d.db", C2, "file:/w/onerous/d.db"),
        (HDFS, "hdfs://one:8020/wh", ClusterName("absent"), "hdfs://one:8020/wh"),
    ],
)
def test_moved(clusters: Topology, location: str, target: ClusterName, expected: str) -> None:
    assert moved(location, clusters, target) == expected


def test_there_and_back_is_where_it_was() -> None:
    for cluster in (C1, C2):
        view = ClusterView(cluster, HDFS)
        own = view.warehouse_location("hdfs://one:8020/wh/d.db")
        assert view.shared_location(own) == "hdfs://one:8020/wh/d.db"


def test_foreign_is_what_the_metastore_will_not_move() -> None:
    view = ClusterView(C2, FILES)
    assert view.is_foreign("file:/w/two/d.db/t")
    assert not view.is_foreign("file:/w/one/d.db/t")
    assert not view.is_foreign("s3://shared/t")
