"""What the metastores and local directories say: are tables and instances there, and whose.

The registry interface of a cluster names its metastore. A connection lives for one question;
fingerprints change whenever a partition's parameters, location or a directory's files do.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

from conf.names import TableRef, parse_partition_name, partition_name
from conf.topology import Endpoint
from metastore.errors import NoSuchObject
from metastore.hms.client import HmsClient
from metastore.hms.nouns import Partition, Table
from pipeline.entities.errors import Problem
from pipeline.entities.model import (
    Cluster,
    Entity,
    Feed,
    FeedCluster,
    Paths,
    Role,
)
from pipeline.entities.model import Table as TableStorage
from pipeline.lifecycle.errors import ActionFailed
from pipeline.lifecycle.schedule import Need
from pipeline.lifecycle.work import World

_TIMEOUT = 20.0
_MAX_FILES = 100_000


@contextmanager
def metastore(cluster: Cluster, user: str, timeout: float = _TIMEOUT) -> Iterator[HmsClient]:
    """A client of the cluster's registry, asking as `user`."""
    with HmsClient([registry_of(cluster)], timeout, user) as client:
        yield client


def registry_of(cluster: Cluster) -> Endpoint:
    """Raises ActionFailed when the cluster has none."""
    endpoint = cluster.endpoint("registry")
    if endpoint is None:
        raise ActionFailed(f"cluster {cluster.name} has no registry interface", final=True)
    parts = urlsplit(endpoint)
    if not parts.hostname or not parts.port:
        raise ActionFailed(f"registry {endpoint!r} is not thrift://host:port", final=True)
    return Endpoint(parts.hostname, parts.port)


def look(needs: Sequence[Need], world: World, owner: str) -> Mapping[Need, str | None]:
    """Every need's fingerprint, or None; one question per metastore and table."""
    found: dict[Need, str | None] = {}
    tables: dict[tuple[str, TableRef], list[Need]] = {}
    for need in needs:
        if isinstance(need.storage, TableStorage):
            tables.setdefault((need.cluster, need.storage.uri.table), []).append(need)
        else:
            cluster = world.clusters.get(need.cluster)
            found[need] = _directory(need.storage, need.time, cluster, need.flag)
    for (name, ref), wanted in tables.items():
        cluster = world.clusters.get(name)
        if cluster is None:
            continue
        with metastore(cluster, owner) as client:
            found |= _partitions(client, ref, wanted)
    return found


def _partitions(client: HmsClient, ref: TableRef, needs: list[Need]) -> dict[Need, str | None]:
    try:
        table = client.get_table(ref)
    except NoSuchObject:
        return dict.fromkeys(needs)
    keys = [key for key, _ in table.partition_keys]
    specs = {need: _spec(need) for need in needs}
    if all(set(spec) == set(keys) for spec in specs.values()):
        names = {
            need: partition_name((key, spec[key]) for key in keys) for need, spec in specs.items()
        }
        seen = {
            each.name(table): _fingerprint(each)
            for each in client.get_partitions(ref, dict.fromkeys(names.values()))
        }
        return {need: seen.get(name) for need, name in names.items()}
    every = [(name, dict(parse_partition_name(name))) for name in client.get_partition_names(ref)]
    return {need: _several(client, table, every, spec) for need, spec in specs.items()}


def _spec(need: Need) -> dict[str, str]:
    assert isinstance(need.storage, TableStorage)
    return dict(need.storage.uri.partition(need.time))


def _several(
    client: HmsClient, table: Table, every: list[tuple[str, dict[str, str]]], spec: dict[str, str]
) -> str | None:
    """The partitions of an instance whose URI names some of the table's keys only."""
    names = [name for name, values in every if spec.items() <= values.items()]
    prints = [f"{p.name(table)}:{_fingerprint(p)}" for p in client.get_partitions(table.ref, names)]
    return _digest(sorted(prints)) if prints else None


def _fingerprint(partition: Partition) -> str:
    about = sorted(f"{key}={value}" for key, value in partition.parameters.items())
    return _digest([partition.location, *about])


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def path_at(template: str, time: datetime, cluster: Cluster | None) -> str:
    """A feed's directory at `time`: date variables filled in, on the cluster's file system."""
    utc = time.astimezone(UTC)
    for name, code in (
        ("YEAR", "%Y"),
        ("MONTH", "%m"),
        ("DAY", "%d"),
        ("HOUR", "%H"),
        ("MINUTE", "%M"),
    ):
        template = template.replace(f"${{{name}}}", utc.strftime(code))
    if "://" in template or template.startswith("file:"):
        return template
    write = urlsplit((cluster.endpoint("write") if cluster else None) or "file:///")
    root = f"{write.scheme}://{write.netloc}{write.path.rstrip('/')}"
    return f"{root}/{template.lstrip('/')}"


def _directory(
    storage: Paths, time: datetime, cluster: Cluster | None, flag: str | None
) -> str | None:
    """A local directory's fingerprint; with a flag, None until that file is in it."""
    uri = path_at(storage.locations["data"], time, cluster)
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        raise ActionFailed(f"{uri}: only tables and local paths are looked at", final=True)
    path = unquote(parts.path)
    if not os.path.isdir(path) or (flag and not os.path.exists(os.path.join(path, flag))):
        return None
    lines: list[str] = []
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            info = os.stat(os.path.join(folder, name))
            lines.append(f"{folder}/{name} {info.st_size} {info.st_mtime_ns}")
            if len(lines) > _MAX_FILES:
                raise ActionFailed(f"{uri} has more than {_MAX_FILES} files", final=True)
    return _digest(sorted(lines))


def against(entity: Entity, world: World, user: str) -> Iterator[Problem]:
    """What the metastores say against a feed: no such table, or another user's (FA-G3, FA-S2).

    A target's table may be missing: replication makes it. Raises MetastoreError when a
    metastore cannot be asked.
    """
    if isinstance(entity, Feed):
        for each in entity.clusters:
            yield from _table_problems(entity, each, world, user)


def _table_problems(feed: Feed, place: FeedCluster, world: World, user: str) -> Iterator[Problem]:
    storage = feed.storage_on(place)
    cluster = world.clusters.get(place.name)
    if not isinstance(storage, TableStorage) or cluster is None:
        return
    ref = storage.uri.table
    try:
        with metastore(cluster, user) as client:
            table = client.get_table(ref)
    except NoSuchObject:
        if place.role is Role.SOURCE:
            reason = f"table {ref} does not exist on cluster {place.name}: create it first"
            yield Problem(storage.line, "table", reason)
        return
    if table.owner and table.owner != user:
        reason = f"table {ref} on {place.name} is owned by {table.owner}, the submitter is {user}"
        yield Problem(storage.line, "table", reason)
    keys = {key for key, _ in table.partition_keys}
    for key, _ in storage.uri.keys:
        if key not in keys:
            reason = f"{key} is not a partition key of {ref} on {place.name}"
            yield Problem(storage.line, "table", reason)
