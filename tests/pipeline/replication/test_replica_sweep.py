"""Sweeps of all tables of a database, for files that replications left."""

from conf.names import ClusterName, TableRef
from metastore.client.types import Table
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.errors import CopyError
from pipeline.replication.replica_sweep import ReplicaSweep, sweep_replicas
from tests.pipeline.replication.pair import BASE, GRACE, TARGET, Pair


def test_a_sweep_of_all_tables_reaches_what_a_replication_left() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("1", a="another")
    pair.run()
    objects = ObjectCatalog(pair.target, ClusterName("c2"))

    def sweep() -> ReplicaSweep:
        states = objects.tables(TARGET.db)
        return sweep_replicas(pair.files, objects, states, lambda: pair.now, GRACE)

    def versions() -> list[bytes]:
        files = pair.files.read(BASE)
        return [body for path, body in files.items() if path.endswith("/a")]

    assert len(versions()) == 2
    assert sweep().swept.deleted == 0
    pair.now += GRACE
    assert sweep().swept.deleted == 1
    assert versions() == [b"another"]
    assert pair.seen() == {"ds=1": {"a": b"another"}}


def test_a_table_that_cannot_be_read_does_not_end_the_sweep_of_others() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.target.add_table(Table.make(TableRef(TARGET.db, "a"), (), location="hdfs://gone/a"))
    children = pair.files.children

    def failing(location: str) -> tuple[str, ...]:
        if location.startswith("hdfs://gone"):
            raise CopyError("no such name node.")
        return children(location)

    pair.files.children = failing  # type: ignore[method-assign]
    objects = ObjectCatalog(pair.target, ClusterName("c2"))
    states = objects.tables(TARGET.db)
    found = sweep_replicas(pair.files, objects, states, lambda: pair.now, GRACE)
    assert found.swept.kept == 1
    assert list(found.unreadable) == ["hdfs://gone/a/_causeway"]
