"""A metastore, a lifecycle and Hudi tables with facts of the test's own."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from conf.copies import TableCopies, sums
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement
from conf.write_ids import new_id, with_time
from console.errors import Refused, SourceDown
from console.sources.entity_reader import EntityReader
from console.sources.hudi_client import HudiClient, HudiTimeline
from console.sources.metastore_client import NoSuchTable, TableDetails, TableList
from console.sources.partition_states import clusters_in_order, partition_states
from pipeline.falcon.entities.entity import Entity
from pipeline.hudi.plan import Plan
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS

EAST, WEST = ClusterName("east"), ClusterName("west")


def placed(
    fresh: bool | None = None, lag: float = 3600.0, primary: ClusterName = EAST
) -> Placement:
    """An object with its primary in one cluster; in the other a copy that is fresh, or stale for
    `lag` seconds; None: none."""
    write = with_time(new_id(), time.time() - lag)
    placement = Placement(primary, write=write)
    if fresh is None:
        return placement
    other = WEST if primary == EAST else EAST
    notes = {"at": time.time() - 7200, "files": 3, "bytes": 4_200_000, "missed": write}
    return placement.with_copy(Copy(other, f"file:/{other}/t", write if fresh else "0", notes))


def parted(count: int, stale: range = range(0)) -> dict[str, Placement]:
    """Partitions of which those with a number in `stale` have a stale copy."""
    return {f"day={day}": placed(day not in stale) for day in range(count)}


@dataclass(slots=True)
class FakeMetastore:
    found: dict[str, TableCopies] = field(default_factory=dict)
    hudi: tuple[TableRef, ...] = ()
    clusters: Sequence[ClusterName] = (EAST, WEST)
    down: bool = False

    def put(
        self, name: str, placement: Placement, partitions: dict[str, Placement] | None = None
    ) -> None:
        self.found[name] = TableCopies(TableRef.parse(name), placement, partitions)

    async def databases(self) -> list[str]:
        self._check()
        return sorted({each.table.db for each in self.found.values()})

    async def tables(self, database: str = "", search: str = "") -> TableList:
        self._check()
        fitting = tuple(
            each
            for name, each in sorted(self.found.items())
            if search.lower() in name and database in ("", each.table.db)
        )
        hudi = tuple(each.table for each in fitting if each.table in self.hudi)
        return TableList(fitting, (), (), len(fitting), tuple(self.clusters), time.time(), hudi)

    async def table(self, ref: TableRef) -> TableDetails:
        self._check()
        if str(ref) not in self.found:
            raise NoSuchTable(str(ref))
        each = self.found[str(ref)]
        clusters = clusters_in_order(each.objects, self.clusters)
        states = None
        if each.partitions is not None:
            states = partition_states(each.partitions, self.clusters)
        counted = tuple(sums(each.objects, clusters))
        return TableDetails(
            ref, f"file:/east/{ref}", ref in self.hudi, each.placement, counted, states, time.time()
        )

    def _check(self) -> None:
        if self.down:
            raise SourceDown("the metastore", "127.0.0.1:9083: Connection refused")


def entities() -> list[dict[str, Any]]:
    """Two clusters, a feed that one copies to the other, and a process."""
    texts = [CLUSTER.replace("{name}", name) for name in ("c1", "c2")]
    names = [("cluster", "c1"), ("cluster", "c2"), ("feed", "clicks"), ("process", "summary")]
    return [
        {
            "kind": kind,
            "name": name,
            "owner": "ann",
            "status": "RUNNING" if kind in ("feed", "process") else "SUBMITTED",
            "scheduled": "2026-01-01T00:00Z",
            "document": text,
        }
        for (kind, name), text in zip(names, [*texts, FEED, PROCESS], strict=True)
    ]


def instance(hours_ago: int, state: str = "SUCCEEDED", **more: Any) -> dict[str, Any]:
    """An instance of the feed's replication."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    nominal = hour - timedelta(hours=hours_ago)
    ran = state not in ("WAITING", "READY", "SUSPENDED")
    ended = ran and state != "RUNNING"
    late = nominal + timedelta(minutes=20)
    return {
        "kind": "feed",
        "name": "clicks",
        "action": "replicate",
        "cluster": "c2",
        "source": "c1",
        "instance": f"{nominal:%Y-%m-%dT%H:%MZ}",
        "state": state,
        "run": 0,
        "attempt": 1 if ran else 0,
        "started": f"{nominal:%Y-%m-%dT%H:%MZ}" if ran else None,
        "ended": f"{late:%Y-%m-%dT%H:%MZ}" if ended else None,
        "detail": "no space left" if state == "FAILED" else "",
    } | more


def behind(seconds: float = 0.0, **more: Any) -> dict[str, Any]:
    """How far the feed's replication is behind."""
    one = {key: instance(0)[key] for key in ("kind", "name", "action", "cluster", "source")}
    return one | {"table": "tgt.clicks", "seconds": seconds, "open": 1, "failed": 0} | more


@dataclass(slots=True)
class FakeLifecycle:
    stored: list[dict[str, Any]] = field(default_factory=list)
    known: list[dict[str, Any]] = field(default_factory=list)
    behind: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    changes: list[tuple[str, ...]] = field(default_factory=list)
    down: bool = False

    async def entities(self) -> list[dict[str, Any]]:
        self._check()
        return self.stored

    async def documents(self) -> list[dict[str, Any]]:
        self._check()
        return self.stored

    async def parsed_entities(self) -> dict[tuple[str, str], Entity]:
        return EntityReader().read(await self.documents())

    async def lag(self) -> list[dict[str, Any]]:
        self._check()
        return self.behind

    async def page(self, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
        found, _ = await self.instances(parameters)
        limit = int(dict(parameters)["limit"])
        return {"instances": found[:limit], "next": "more" if len(found) > limit else None}

    async def instances(
        self, parameters: Sequence[tuple[str, str]]
    ) -> tuple[list[dict[str, Any]], bool]:
        self._check()
        given: dict[str, list[str]] = {}
        for name, value in parameters:
            given.setdefault(name, []).append(value)
        found = [each for each in self.known if _fits(each, given)]
        return sorted(found, key=lambda each: str(each["instance"]), reverse=True), False

    async def log(self, kind: str, name: str, start: str = "") -> list[dict[str, Any]]:
        self._check()
        return self.entries

    async def retention(self, feed: str) -> list[dict[str, Any]]:
        self._check()
        return self.plans

    async def change_instances(
        self, kind: str, name: str, action: str, parameters: Mapping[str, str]
    ) -> dict[str, Any]:
        self._check()
        self.changes.append((kind, name, action, *sorted(map("=".join, parameters.items()))))
        for each in self.known:
            if action == "rerun" and each["instance"] == parameters["start"]:
                each |= {"state": "WAITING", "run": each["run"] + 1, "detail": ""}
                return {"changed": [each], "refused": []}
        return {"changed": [], "refused": [f"{kind} {name} cannot {action}"]}

    async def change_entity(self, kind: str, name: str, action: str) -> str:
        self._check()
        if name == "none":
            raise Refused("no feed none was submitted")
        self.changes.append((kind, name, action))
        return f"{kind} {name} {action}ed"

    def _check(self) -> None:
        if self.down:
            raise SourceDown("the lifecycle", "127.0.0.1:9999: Connection refused")


def _fits(one: Mapping[str, Any], given: Mapping[str, Sequence[str]]) -> bool:
    for name in ("kind", "name", "action", "cluster", "state"):
        if name in given and one[name] not in given[name]:
            return False
    if "start" in given and one["instance"] < given["start"][0]:
        return False
    return not ("end" in given and one["instance"] >= given["end"][0])


@dataclass(slots=True)
class FakeHudi:
    """`tables` are directories of this machine by table location."""

    tables: dict[str, str] = field(default_factory=dict)
    client: HudiClient = field(default_factory=HudiClient)

    async def timeline(self, base: str) -> HudiTimeline:
        return await self.client.timeline(self.tables.get(base, base))

    async def pull(self, base: str, since: str) -> Plan:
        return await self.client.pull(self.tables.get(base, base), since)
