"""Since when a copy lacks something, against a record of every write."""

import os
import random
from collections.abc import Iterable, Iterator

import pytest

from conf import write_ids
from conf.bases import BASES_LIMIT, read_bases
from conf.copies import CopySum, cluster_copies, lacking_since, sums
from conf.names import ClusterName, TableRef
from conf.placement import (
    BASES,
    Copy,
    Placement,
    read_placement,
    rewritten_parameters,
    write_placement,
)
from conf.write_ids import new_id, time_of, with_time
from metastore.client.partition_decoder import PartitionFacts
from metastore.client.types import Partition, Table
from metastore.placement.placement_store import PlacementStore
from metastore.placement.table_copies import table_copies
from pipeline.copy.copy_catalog import TABLE_ITSELF, ObjectCatalog, Publication
from tests.metastore.in_memory import Memory

C1, C2, C3 = (ClusterName(name) for name in ("C1", "C2", "C3"))
REF = TableRef("default", "t")
DAYS = [f"ds={day}" for day in range(4)]
HISTORIES = int(os.environ.get("CAUSEWAY_HISTORIES", "30"))
NOW = 1_000_000.0


class Client(Memory):
    """As much of an HmsClient as copies need."""

    def get_partition_names(self, ref: TableRef) -> list[str]:
        return list(self.partitions[ref])

    def get_partition_facts(self, ref: TableRef, names: Iterable[str]) -> Iterator[PartitionFacts]:
        for each in self.get_partitions(ref, names):
            own = {k: v for k, v in each.parameters.items() if k.startswith("causeway.")}
            yield PartitionFacts(tuple(each.values), each.location, own)


def store(*, parted: bool, uniform: bool = False) -> PlacementStore:
    client = Client()
    keys = [("ds", "string")] if parted else []
    facts = {"causeway.partitions": "uniform"} if uniform else {}
    table = Table.make(
        REF, [("id", "int")], location=f"file:/{REF}", partition_keys=keys, parameters=facts
    )
    client.tables[REF] = table
    client.partitions[REF] = {
        name: Partition.make(table, [name[3:]], f"file:/{REF}/{name}", {})
        for name in (DAYS if parted else [])
    }
    return PlacementStore(client, C1)  # type: ignore[arg-type]


class History:
    """Random writes and copies; after each step the copies' lags are compared with the record."""

    def __init__(self, chance: random.Random, facts: PlacementStore) -> None:
        self.chance, self.facts = chance, facts
        self.objects = ObjectCatalog(facts.client, C1)
        self.now = NOW
        self.running: dict[str, tuple[float, list[str] | None]] = {}
        self.missed: dict[tuple[str, ClusterName, str], float] = {}  # of: the part that differs
        self.stale = 0

    def placements(self) -> dict[str, Placement]:
        found = table_copies(self.facts, self.facts.client.get_table(REF))
        return {TABLE_ITSELF: found.placement} if found.partitions is None else found.partitions

    def step(self) -> None:
        self.now += 1
        began = self.now
        match self.chance.choice(("begin", "end", "end", "copy", "copy", "direct")):
            case "begin" if len(self.running) < 2:
                named = self.chance.sample(DAYS, 2) if self.chance.random() < 0.5 else None
                names = named if self.facts.client.partitions[REF] else None  # type: ignore[attr-defined]
                write_id = new_id()
                self.facts.open_write(REF, write_id, names, self.now, "test")
                self.running[write_id] = (self.now, names)
            case "end" if self.running:
                write_id = self.chance.choice(sorted(self.running))
                began, names = self.running.pop(write_id)
                self.facts.close_write(REF, write_id, names)
            case "copy":
                self.copy()
            case "direct":
                self.direct()
        self.compare(began)

    def copy(self) -> None:
        cluster = self.chance.choice((C2, C3))
        state = self.objects.table(REF)
        (each,) = self.objects.objects(state, [self.chance.choice(self.objects.names(state))])
        name, placement = each.name, each.placement
        if not placement.writing:
            source = f"file:/{REF}/{name}".rstrip("/")
            new = Publication(name, source, placement.version, f"file:/{cluster}/{new_id()}", 2, 50)
            assert self.objects.publish(REF, cluster, [new]) == {name}
            for key in [key for key in self.missed if key[:2] == (name, cluster)]:
                del self.missed[key]

    def direct(self) -> None:
        """A write that only changes an id, as a view does for a client's alter."""
        client = self.facts.client
        table = client.get_table(REF)
        if not any(names is None for _, names in self.running.values()):
            table.parameters = rewritten_parameters(table.parameters, new_id())

    def compare(self, began: float) -> None:
        for name, placement in self.placements().items():
            for copy in placement.copies:
                table_write, _, write = copy.of.rpartition("/")
                known = {"own": (write, placement.write)}
                if placement.table_write is not None:
                    known["table"] = (table_write, placement.table_write)
                differing = {part for part, (of, is_now) in known.items() if of != is_now}
                for part in differing:
                    self.missed.setdefault((name, copy.cluster, part), began)
                times = [self.missed[name, copy.cluster, part] for part in differing]
                if not times:
                    times = [mark.since for mark in placement.open]
                self.stale += bool(times)
                assert lacking_since(placement, copy) == (min(times) if times else None)


@pytest.mark.parametrize("kind", ["table", "partitions", "uniform"])
def test_the_lag_begins_with_the_first_write_that_a_copy_misses(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(os.environ.get("CAUSEWAY_SEED", str(random.randrange(1 << 30))))
    print("seed", seed)
    stale = 0
    for number in range(HISTORIES):
        chance = random.Random(f"{seed}/{number}")
        facts = store(parted=kind != "table", uniform=kind == "uniform")
        history = History(chance, facts)
        monkeypatch.setattr(write_ids.time, "time_ns", lambda h=history: int(h.now * 1e9))
        for _ in range(40):
            history.step()
        stale += history.stale
    assert stale > HISTORIES * 10


def test_the_first_write_counts_and_not_the_last() -> None:
    facts = store(parted=False)
    facts.change_table(REF, lambda old: old.with_copy(Copy(C2, "file:/c2", old.version)))
    for began in (100.0, 200.0, 300.0):
        facts.open_write(REF, "w", None, began, "test")
        facts.close_write(REF, "w", None)
    (copy,) = cluster_copies(facts.table(REF)[1])
    assert (copy.fresh, copy.since) == (False, 100.0)
    facts.change_table(REF, lambda old: old.with_copy(Copy(C2, "file:/c2/2", old.version)))
    (copy,) = cluster_copies(facts.table(REF)[1])
    assert (copy.fresh, copy.since) == (True, None)


def test_a_copy_that_was_stale_before_times_were_kept_is_unknown() -> None:
    old = write_placement(Placement(C1, write="b", copies=(Copy(C2, "file:/c2", "a"),)))
    for after in (old, rewritten_parameters(old, new_id())):
        (copy,) = cluster_copies(read_placement(after, C1))
        assert (copy.fresh, copy.since, copy.at, copy.files, copy.bytes) == (
            (False, None, None, None, None)
        )
    (total,) = sums([read_placement(old, C1)], [C2])
    assert (total.stale, total.since, total.unknown) == (1, None, 1)


def test_an_id_has_a_time_that_can_be_replaced() -> None:
    one, other = new_id(), new_id()
    assert one != other
    assert time_of(with_time(one, 1_700_000_000.123)) == 1_700_000_000.123
    assert with_time(one, 0) == one
    assert with_time("0123456789abcdef", 5) == "0123456789abcdef"
    assert [time_of(each) for each in ("0", "0123456789abcdef", "None")] == [None] * 3


@pytest.mark.parametrize("odd", ["Infinity", "NaN", "-1", "1e300", '"soon"', "null", "[1]"])
def test_a_value_that_is_no_time_is_unknown(odd: str) -> None:
    text = f'{{"location":"file:/c2","of":"0","at":{odd},"files":{odd},"bytes":null}}'
    placement = read_placement({"causeway.copy.C2": text}, C1)
    (copy,) = cluster_copies(placement)
    assert (copy.fresh, copy.at, copy.bytes) == (True, None, None)
    assert sums([placement], [C2])[0].document(NOW)["copied"] is None


def test_a_mark_without_a_usable_time_ends_as_any_other() -> None:
    facts = store(parted=False)
    facts.change_table(REF, lambda old: old.with_copy(Copy(C2, "file:/c2", old.version)))
    for since in (float("inf"), -1.0):
        facts.open_write(REF, "w", None, since, "test")
        (copy,) = cluster_copies(facts.table(REF)[1])
        assert copy.since is None or copy.since > NOW
        facts.close_write(REF, "w", None)
        (copy,) = cluster_copies(facts.table(REF)[1])
        assert copy.since is not None  # the end of the write, by this clock
        assert copy.since > NOW


def test_bases_are_bounded_and_a_forgotten_one_is_unknown() -> None:
    table = Placement(C1)
    of = f"{table.write}/0"
    for _ in range(BASES_LIMIT + 1):
        table = table.with_partition_facts(new_id()).rewritten(new_id())
    assert len(read_bases(write_placement(table)[BASES])) == BASES_LIMIT
    part = Placement(C1, table_write=table.write, bases=table.bases)
    assert lacking_since(part, Copy(C2, "file:/c2", of)) is None


def test_unreadable_bases_count_as_none() -> None:
    assert read_bases("[") == read_bases("[1]") == read_bases("") == {}


def test_sums_count_the_objects_of_each_cluster() -> None:
    facts = store(parted=True)
    objects = ObjectCatalog(facts.client, C1)
    copies = [
        Publication(name, f"file:/{REF}/{name}", "0/0", f"file:/c2/{name}", 2, 50)
        for name in DAYS[:3]
    ]
    assert objects.publish(REF, C2, copies) == set(DAYS[:3])
    facts.open_write(REF, "w", [DAYS[0]], 100.0, "test")
    facts.close_write(REF, "w", [DAYS[0]])
    found = table_copies(facts, facts.client.get_table(REF))
    home, west = sums(found.objects, (C1, C2))
    assert found.copied
    assert (home.cluster, home.primary, home.state, home.files, home.bytes) == (
        (C1, 4, "primary", None, None)
    )
    assert (west.fresh, west.stale, west.absent, west.state) == (2, 1, 1, "absent")
    assert (west.since, west.unknown, west.files, west.bytes) == (100.0, 0, 6, 150)
    assert west.document(160.0)["lag"] == 60.0
    assert sums([found.partitions[DAYS[1]]], [C1])[0].bytes == 50  # type: ignore[index]
    assert CopySum(C2).state == "primary"
