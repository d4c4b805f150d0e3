"""Secondary copies of a replica, in the metastore of the target."""

from collections.abc import Sequence
from itertools import count

import pytest

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from metastore.client.types import Partition, Table
from metastore.placement.placement_store import PlacementStore
from tests.pipeline.replication.pair import TARGET, Pair

B1, B2 = ClusterName("B1"), ClusterName("B2")
DAY = "ds=1"
Keys = Sequence[tuple[str, str]]


def test_secondary_copies_of_the_target_become_stale() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    PlacementStore(pair.target, B1).change_table(TARGET, lambda old: old.rewritten("1"))
    pair.files.write("file:///src/raw/ds=1/late", b"more")
    before = read_placement(pair.target.tables[TARGET].parameters, B1).write
    part = read_placement(pair.target.parts[TARGET]["ds=1"].parameters, B1).write
    pair.run()
    after = read_placement(pair.target.tables[TARGET].parameters, B1)
    after_part = read_placement(pair.target.parts[TARGET]["ds=1"].parameters, B1).write
    assert (after.write, after_part) != (before, part)
    assert not after.writing
    assert pair.seen() == {"ds=1": {"a": b"one", "late": b"more"}}


class CopiedReplica:
    """A replica of a table or partition, of which a cluster has a copy; its source has changed."""

    def __init__(self, keys: Keys) -> None:
        self.pair, self.partitioned = Pair(tuple(keys)), bool(keys)
        source = "file:///src/raw"
        if self.partitioned:
            self.pair.add("1")
            source += f"/{DAY}"
        self.request = self.pair.request("1" if self.partitioned else None)
        self.pair.files.write(f"{source}/a", b"one")
        self.pair.run(self.request)
        facts = PlacementStore(self.pair.target, B1)
        if self.partitioned:
            facts.change_partitions(TARGET, [DAY], lambda _, old: _copied(old))
        else:
            facts.change_table(TARGET, _copied)
        self.pair.files.write(f"{source}/a", b"two")

    @property
    def replica(self) -> Table | Partition:
        target = self.pair.target
        return target.parts[TARGET][DAY] if self.partitioned else target.tables[TARGET]

    @property
    def placed(self) -> Placement:
        return read_placement(self.pair.target.tables[TARGET].parameters, B1)

    @property
    def is_fresh(self) -> bool:
        placed = self.placed
        if self.partitioned:
            placed = read_partition_placement(self.replica.parameters, placed, DAY)
        return any(placed.is_fresh(each) for each in placed.copies)


def _copied(placed: Placement) -> Placement:
    return placed.with_copy(Copy(B2, "file:///b2/copy", placed.version))


@pytest.mark.slow
@pytest.mark.parametrize("keys", [(), (("ds", "string"),)])
def test_killed_at_every_point_no_copy_of_old_data_is_fresh(keys: Keys) -> None:
    kept = ended = left = 0
    for effect in count(1):
        copied = CopiedReplica(keys)
        assert copied.is_fresh
        old = copied.replica.location
        killed = copied.pair.killed_at(effect, copied.request)
        if copied.replica.location == old:
            kept += copied.is_fresh
        else:
            ended += 1
            assert not copied.is_fresh
        left += bool(copied.placed.open)
        copied.pair.run(copied.request)
        assert not copied.is_fresh
        assert not copied.placed.open, "the next run ends what a killed one left"
        if not killed:
            break
    assert kept > 1, "what was not replaced has its copy"
    assert ended > 1
    assert bool(left) is bool(keys)
