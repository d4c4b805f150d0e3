"""What the snapshot remembers, for how long, and how much of it."""

from dataclasses import replace

import pytest

from conf.catalog.tables import NotLoaded, TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey
from conf.placement import Copy, Placement
from conf.write_ids import new_id, with_time
from metastore.snapshot.partitions import PartitionSheet
from metastore.snapshot.snapshot import Snapshot, TableRecord

REF = TableRef("db", "t")
C1, C2 = ClusterName("C1"), ClusterName("C2")
KEYS = (PartitionKey("ds", "string"),)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _record(placement: Placement | None = None, keys: tuple[PartitionKey, ...] = ()) -> TableRecord:
    info = TableInfo(REF, TableKind.TABLE, partition_keys=keys)
    return TableRecord(info, placement or Placement(C1))


def _put(snapshot: Snapshot, record: TableRecord | None, ref: TableRef = REF) -> bool:
    token = snapshot.begin(ref)
    snapshot.end(ref, token)
    return snapshot.put_table(ref, record, token)


def test_a_table_that_was_not_loaded_raises_not_loaded() -> None:
    snapshot = Snapshot()
    for ask in (snapshot.table, snapshot.facts, snapshot.placement):
        with pytest.raises(NotLoaded):
            ask(REF)
    with pytest.raises(NotLoaded):
        snapshot.database_exists("db")


def test_a_table_that_certainly_does_not_exist() -> None:
    snapshot = Snapshot()
    _put(snapshot, None)
    assert (snapshot.table(REF), snapshot.facts(REF), snapshot.placement(REF)) == (None,) * 3


def test_facts_grow_too_old() -> None:
    clock = Clock()
    snapshot = Snapshot(ttl=60, clock=clock)
    _put(snapshot, _record())
    clock.now += 60
    assert snapshot.table(REF) is not None
    clock.now += 0.1
    with pytest.raises(NotLoaded):
        snapshot.table(REF)


def test_placing_a_table_makes_it_no_younger() -> None:
    clock = Clock()
    snapshot = Snapshot(ttl=60, clock=clock)
    _put(snapshot, _record())
    clock.now += 40
    snapshot.place(REF, Placement(C2))
    assert snapshot.placement(REF) == Placement(C2)
    clock.now += 40
    with pytest.raises(NotLoaded):
        snapshot.placement(REF)


@pytest.mark.parametrize("refs", [[REF], None])
def test_a_load_that_an_invalidation_overtook_is_not_kept(refs: list[TableRef] | None) -> None:
    snapshot = Snapshot()
    token = snapshot.begin(REF)
    snapshot.invalidate(refs)
    snapshot.end(REF, token)
    assert not snapshot.put_table(REF, _record(), token)
    with pytest.raises(NotLoaded):
        snapshot.table(REF)


def test_a_load_of_another_table_is_kept() -> None:
    snapshot = Snapshot()
    token = snapshot.begin(REF)
    snapshot.invalidate([TableRef("db", "other")])
    assert snapshot.put_table(REF, _record(), token)


def test_invalidating_a_table_forgets_whether_its_database_exists() -> None:
    snapshot = Snapshot()
    token = snapshot.begin("db")
    assert snapshot.put_database("db", True, token)
    assert snapshot.database_exists("db")
    snapshot.invalidate([REF])
    with pytest.raises(NotLoaded):
        snapshot.database_exists("db")


def test_the_number_of_tables_is_bounded() -> None:
    snapshot = Snapshot(limit=10)
    for number in range(100):
        _put(snapshot, _record(), TableRef("db", f"t{number}"))
    assert sum(_known(snapshot, TableRef("db", f"t{number}")) for number in range(100)) == 10


def test_partitions_weigh_and_one_giant_is_kept() -> None:
    snapshot = Snapshot(limit=10)
    for number in range(10):
        _put(snapshot, _record(), TableRef("db", f"t{number}"))
    _put(snapshot, _record(keys=KEYS))
    snapshot.put_sheet(
        REF, PartitionSheet(KEYS, (f"ds={n}" for n in range(20_000)), frozenset()), 100.0
    )
    assert _known(snapshot, REF)
    assert not _known(snapshot, TableRef("db", "t9"))


def test_partitions_stay_known_while_their_table_says_so() -> None:
    snapshot = Snapshot()
    _put(snapshot, _record(keys=KEYS))
    sheet = PartitionSheet(KEYS, ["ds=1"], False)
    sheet.learn([0], {("1",): {}})
    snapshot.put_sheet(REF, sheet, 100.0)
    _put(snapshot, _record(Placement(C1).opened("a", ["ds=2"]), KEYS))
    assert snapshot.facts(REF) is not None
    for changed in (Placement(C1, write="w"), Placement(C1, facts="f")):
        snapshot.put_sheet(REF, sheet, 100.0)
        _put(snapshot, _record(changed, KEYS))
        with pytest.raises(NotLoaded):
            snapshot.facts(REF)
        _put(snapshot, _record(keys=KEYS))


def test_an_unpartitioned_tables_holders() -> None:
    snapshot = Snapshot()
    _put(snapshot, _record(Placement(C1).with_copy(Copy(C2, "file:/c2", "0"))))
    facts = snapshot.facts(REF)
    assert facts is not None
    assert facts.replicas.fresh == {C2}
    assert facts.partitions is None


def test_the_lag_of_copies_in_memory() -> None:
    now = 0.0
    snapshot = Snapshot(ttl=10, clock=lambda: now)
    copied = Placement(C1).with_copy(Copy(C2, "file:/c2", "0"))
    _put(snapshot, _record(copied))
    assert snapshot.lacking_since() == {(REF, C2): None}
    _put(snapshot, _record(copied.rewritten(with_time(new_id(), 100.0)).rewritten(new_id())))
    assert snapshot.lacking_since() == {(REF, C2): 100.0}
    _put(snapshot, _record(replace(copied, write="of an older version")))
    assert snapshot.lacking_since() == {}
    now = 11.0
    _put(snapshot, _record(copied))
    now = 22.0
    assert snapshot.lacking_since() == {}


def _known(snapshot: Snapshot, ref: TableRef) -> bool:
    try:
        snapshot.table(ref)
    except NotLoaded:
        return False
    return True
