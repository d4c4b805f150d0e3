"""Random histories over three clusters against a simple model (DC-M4, D10).

Create, write, copy, drop and read, by views, in any order: no client ever reads a location that
lacks the present data, and nothing changes outside its primary.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Self
from uuid import uuid4

import pytest

from conf.names import TableRef
from conf.placement import Copy
from conf.settings.settings import Writers
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from tests.metastore.writable import C1, C2, C3, WritableMetastore, views

CLUSTERS = [C1, C2, C3]
DAYS = ["", "1", "2"]  # the empty one stands for the unpartitioned table
KEYS = [("ds", "string")]


@dataclass
class Thing:
    """A table or partition: `data` names its present contents, `files` what lies where."""

    primary: str
    location: str
    data: str
    files: dict[str, str] = field(default_factory=dict)


class History:
    """One history; `steps` says what was done, for the message of a failure."""

    def __init__(self, cache: float, writers: Writers) -> None:
        self.steps: list[str] = []
        self._exits = ExitStack()
        self.hms = WritableMetastore()
        self._exits.callback(self.hms.stop)
        self.listening = self._exits.enter_context(views(self.hms, cache=cache, writers=writers))
        opened = {
            name: self._exits.enter_context(HmsClient((self.listening[name],), 60.0))
            for name in (C1, C2, C3)
        }
        self.by = opened
        own = self._exits.enter_context(HmsClient((self.hms.endpoint,), 60.0))
        sync = self._exits.enter_context(ViewSync(self.listening.values(), 60.0))
        self.facts = PlacementStore(own, C1, sync)
        self.things: dict[tuple[str, str], Thing] = {}
        self.primaries: dict[tuple[str, bool], str] = {}
        self.open: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def step(self, random: Random) -> None:
        cluster, pick, at_home = (
            random.choice(CLUSTERS),
            random.randrange(12),
            random.random() < 0.8,
        )
        actions: list[tuple[Callable[..., None], tuple[object, ...]]] = [
            (self.create, (cluster, random.choice("ab"), random.choice(DAYS))),
            (self.insert, (pick, at_home)),
            (self.insert, (pick, at_home)),
            (self.drop, (pick, at_home, random.randrange(4))),
            (self.begin_write, (pick,)),
            (self.end_write, (pick,)),
            (self.end_write, (pick,)),
            (self.copy, (cluster, pick)),
            (self.copy, (cluster, pick)),
            (self.copy, (cluster, pick)),
        ]
        action, arguments = random.choice(actions)
        self.steps.append(f"{action.__name__}{arguments}")
        action(*arguments)

    def begin(self, home: str, other: str) -> None:
        """Something to work on from the first step."""
        self.create(home, "a", "")
        self.create(other, "a", "1")
        self.create(other, "a", "2")

    # what clients do, each by some cluster's view

    def create(self, cluster: str, name: str, day: str) -> None:
        ref = self._ref(name, day)
        if (name, bool(day)) not in self.primaries:
            made = Table.make(ref, [("x", "int")], partition_keys=KEYS if day else [])
            self.by[cluster].create_table(made)
            self.primaries[name, bool(day)] = cluster
            if not day:
                self._born(name, day, self.by[cluster].get_table(ref).location)
        if day and (name, day) not in self.things:
            table = self.by[cluster].get_table(ref)
            place = f"{table.location}/ds={day}"
            part = Partition.make(table, [day], place, {})
            self._only_in_primary(
                cluster, name, day, lambda: self.by[cluster].add_partitions(ref, [part])
            )
            if cluster == self.primaries[name, True]:
                self._born(name, day, place)

    def insert(self, pick: int, at_home: bool) -> None:
        """As Spark does into text: files first, where the guard lets it, then an alter."""
        chosen = self._chosen(pick)
        if chosen is None:
            return
        name, day, thing = chosen
        cluster = self._cluster(thing, at_home)
        ref = self._ref(name, day)
        client = self.by[cluster]

        def alter() -> None:
            if day:
                part = next(client.get_partitions(ref, [f"ds={day}"]))
                client.alter_partitions(ref, [part])
            else:
                client.alter_table(ref, client.get_table(ref))

        if self._only_in_primary(cluster, name, day, alter):
            thing.data = thing.files[thing.location] = uuid4().hex

    def drop(self, pick: int, at_home: bool, really: int) -> None:
        chosen = self._chosen(pick)
        if chosen is None or chosen[:2] in self.open or really:
            return
        name, day, thing = chosen
        cluster = self._cluster(thing, at_home)
        ref = self._ref(name, day)
        client = self.by[cluster]
        change = (
            (lambda: client.drop_partition(ref, f"ds={day}"))
            if day
            else (lambda: client.drop_table(ref))
        )
        if self._only_in_primary(cluster, name, day, change):
            del self.things[name, day]
            if not day:
                del self.primaries[name, False]

    # what Causeway does, in the metastore itself

    def begin_write(self, pick: int) -> None:
        chosen = self._chosen(pick)
        if chosen is None or chosen[:2] in self.open:
            return
        name, day, thing = chosen
        write = self.open[name, day] = uuid4().hex
        self.facts.open_write(self._ref(name, day), write, self._names(day), 0, "test")
        thing.data = thing.files[thing.location] = uuid4().hex

    def end_write(self, pick: int) -> None:
        if not self.open:
            return
        name, day = sorted(self.open)[pick % len(self.open)]
        write = self.open.pop((name, day))
        thing = self.things[name, day]
        thing.data = thing.files[thing.location] = uuid4().hex
        self.facts.close_write(self._ref(name, day), write, self._names(day))

    def copy(self, cluster: str, pick: int) -> None:
        chosen = self._chosen(pick)
        if chosen is None or chosen[:2] in self.open or chosen[2].primary == cluster:
            return
        name, day, thing = chosen
        place = f"hdfs://{cluster}:8020/copies/{uuid4().hex}"
        thing.files[place] = thing.data
        ref = self._ref(name, day)
        if day:
            self.facts.change_partitions(
                ref,
                [f"ds={day}"],
                lambda _, old: old.with_copy(Copy(cluster, place, old.version)),
            )
        else:
            self.facts.change_table(
                ref, lambda old: old.with_copy(Copy(cluster, place, old.version))
            )

    # what has to hold

    def everybody_reads_the_present_data(self) -> None:
        for (name, day), thing in self.things.items():
            ref = self._ref(name, day)
            for cluster, client in self.by.items():
                parts = client.get_partitions(ref, [f"ds={day}"])
                got = next(parts) if day else client.get_table(ref)
                assert thing.files.get(got.location) == thing.data, (name, day, cluster)

    def every_table_keeps_its_primary(self) -> None:
        for (name, partitioned), primary in self.primaries.items():
            ref = self._ref(name, "1" if partitioned else "")
            assert self.facts.table(ref)[1].primary == primary

    def _only_in_primary(
        self, cluster: str, name: str, day: str, change: Callable[[], None]
    ) -> bool:
        if cluster == self.primaries[name, bool(day)]:
            change()
            return True
        with pytest.raises(MetastoreRefused, match="CW350"):
            change()
        return False

    def _chosen(self, pick: int) -> tuple[str, str, Thing] | None:
        if not self.things:
            return None
        name, day = sorted(self.things)[pick % len(self.things)]
        return name, day, self.things[name, day]

    @staticmethod
    def _cluster(thing: Thing, at_home: bool) -> str:
        return thing.primary if at_home else {C1: C2, C2: C3, C3: C1}[thing.primary]

    def _born(self, name: str, day: str, location: str) -> None:
        data = uuid4().hex
        primary = self.primaries[name, bool(day)]
        self.things[name, day] = Thing(primary, location, data, {location: data})

    @staticmethod
    def _ref(name: str, day: str) -> TableRef:
        return TableRef("default", f"{name}_by_day" if day else name)

    @staticmethod
    def _names(day: str) -> list[str] | None:
        return [f"ds={day}"] if day else None


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))]
)
@pytest.mark.parametrize(
    ("cache", "writers"), [(0.0, Writers.ANY), (60.0, Writers.ANY), (60.0, Writers.VIEWS)]
)
def test_no_history_reads_stale_data_or_writes_outside_the_primary(
    cache: float, writers: Writers, seed: int
) -> None:
    random = Random(seed)
    with History(cache, writers) as history:
        history.begin(random.choice(CLUSTERS), random.choice(CLUSTERS))
        for _ in range(80):
            history.step(random)
            try:
                history.everybody_reads_the_present_data()
                history.every_table_keeps_its_primary()
            except AssertionError as error:
                error.add_note("; ".join(history.steps))
                raise
