"""Reads fingerprints of data from metastores and directories, and checks feeds' tables there.

A cluster's registry interface names its metastore. Each function opens its own connections. A
fingerprint changes with the location, the last write and every file of a partition or directory. Of
a whole table (falcon/whole_tables.py) it has no files, because no data of it comes late.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from conf.names import TableRef
from conf.placement import METADATA, NEVER_WRITTEN, WRITE
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.catalog_client import CatalogClient
from metastore.client.changes.notifying_client import Notify, NotifyingClient
from metastore.client.connecting import PLAIN
from metastore.client.types import Partition, Table
from metastore.errors import NoSuchObject
from metastore.placement.open_formats import open_format, why_files_are_not_enough, why_not_copied
from metastore.placement.placement_store import no_views
from pipeline.copy.files import FileEntry, FileListing
from pipeline.errors import ActionFailed
from pipeline.falcon.catalog_uri import is_numeric
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed, FeedCluster, Paths, Role
from pipeline.falcon.entities.feed import Table as TableStorage
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.feed_properties import catalog_table
from pipeline.falcon.inputs import Need
from pipeline.falcon.paths import path_at
from pipeline.partition_values import Spec, is_number, kinds_of, matches, spellings
from pipeline.replication.plan import fingerprint
from pipeline.scheduler.actions.catalog_service import TIMEOUT, CatalogService

MAX_FILES = 100_000


Logins = Mapping[Endpoint, MetastoreLogin]
"""The log-ins of metastores with SASL or TLS."""
NO_LOGINS: Logins = {}


@contextmanager
def metastore(
    cluster: Cluster,
    user: str,
    timeout: float = TIMEOUT,
    notify: Notify = no_views,
    logins: Logins = NO_LOGINS,
) -> Iterator[CatalogClient]:
    """A client of the cluster's metastore as `user`; calls `notify` with each changed table."""
    endpoint = registry_of(cluster)
    login = logins.get(endpoint, PLAIN)
    with NotifyingClient([endpoint], timeout, notify, user, login) as client:
        yield client


def registry_of(cluster: Cluster) -> Endpoint:
    """The cluster's metastore. Raises ActionFailed if there is none."""
    endpoint = cluster.endpoint("registry")
    if endpoint is None:
        raise ActionFailed(f"cluster {cluster.name} has no registry interface", final=True)
    parts = urlsplit(endpoint)
    if not parts.hostname or not parts.port:
        raise ActionFailed(f"registry {endpoint!r} is not thrift://host:port", final=True)
    return Endpoint(parts.hostname, parts.port)


@dataclass(frozen=True, slots=True)
class HiveCatalogService:
    """The catalog service of Hive metastores. `logins` has those of metastores with SASL or TLS."""

    logins: Logins = field(default_factory=dict)

    def connect(
        self, cluster: Cluster, user: str, timeout: float = TIMEOUT, notify: Notify = no_views
    ) -> AbstractContextManager[CatalogClient]:
        return metastore(cluster, user, timeout, notify, self.logins)


HIVE = HiveCatalogService()

Listings = Callable[[Sequence[str]], Sequence[FileListing | None]]
"""The files of directories (URIs); None for a missing directory."""


def read_fingerprints(
    needs: Sequence[Need],
    entity_set: EntitySet,
    owner: str,
    listings: Listings,
    catalogs: CatalogService = HIVE,
) -> Mapping[Need, str | None]:
    """The fingerprint of each need's data, or None if it is missing. Opens one connection for each
    metastore and table. Raises MetastoreError, ActionFailed.
    """
    found: dict[Need, str | None] = dict.fromkeys(needs)
    tables: dict[tuple[str, TableRef], list[Need]] = {}
    for need in needs:
        if isinstance(need.storage, TableStorage):
            tables.setdefault((need.cluster, need.storage.uri.table), []).append(need)
    for (name, ref), wanted in tables.items():
        if cluster := entity_set.clusters.get(name):
            with catalogs.connect(cluster, owner) as client:
                found |= _partitions(client, ref, wanted, listings)
    paths = [need for need in needs if isinstance(need.storage, Paths)]
    return found | _directories(paths, entity_set, listings)


def _partitions(
    client: CatalogClient, ref: TableRef, needs: list[Need], listings: Listings
) -> dict[Need, str | None]:
    """The fingerprints of needs of one table. A need of some of its keys has all partitions that
    match; a need without keys has the whole table, which exists in all of its instances.
    """
    try:
        table = client.get_table(ref)
    except NoSuchObject:
        return dict.fromkeys(needs)
    whole = {need: _digest([_table_fingerprint(table)]) for need in needs if not _spec(need)}
    names = _names(client, table, {each: _spec(each) for each in needs if each not in whole})
    wanted = dict.fromkeys(name for group in names.values() for name in group)
    parts = {each.name(table): each for each in client.get_partitions(ref, wanted)}
    files = listings([each.location for each in parts.values()])
    prints = {
        name: _fingerprint(part, listing)
        for (name, part), listing in zip(parts.items(), files, strict=True)
    }
    return whole | {
        need: _digest(f"{name} {prints[name]}" for name in group if name in prints) or None
        for need, group in names.items()
    }


def _names(
    client: CatalogClient, table: Table, specs: Mapping[Need, Spec]
) -> dict[Need, list[str]]:
    """The names of the partitions that each need selects."""
    kinds = kinds_of(table.partition_keys)
    if all({key for key, _ in spec} == set(kinds) for spec in specs.values()):
        return {need: list(spellings(spec, kinds)) for need, spec in specs.items()}
    every = client.get_partition_names(table.ref)
    return {
        need: sorted(name for name in every if matches(spec, name, kinds))
        for need, spec in specs.items()
    }


def _spec(need: Need) -> Spec:
    assert isinstance(need.storage, TableStorage)
    return need.storage.uri.partition(need.time)


def _fingerprint(partition: Partition, listing: FileListing | None) -> str:
    """A partition's location, last write and files, without its statistics and copies."""
    files = "absent" if listing is None else fingerprint(listing)
    return f"{partition.location} {partition.parameters.get(WRITE, NEVER_WRITTEN)} {files}"


def _table_fingerprint(table: Table) -> str:
    parameters = table.parameters
    written = parameters.get(WRITE, NEVER_WRITTEN)
    return f"{table.location} {written} {parameters.get(METADATA, '')}"


def _digest(lines: Iterable[str]) -> str:
    """A hash of the lines; empty without lines."""
    text = "\n".join(lines)
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""


def _directories(
    needs: Sequence[Need], entity_set: EntitySet, listings: Listings
) -> dict[Need, str | None]:
    """The fingerprints of directories; None without the feed's availability flag, if it has one."""
    uris = []
    for need in needs:
        assert isinstance(need.storage, Paths)
        template = need.storage.locations["data"]
        uris.append(path_at(template, need.time, entity_set.clusters.get(need.cluster)))
    found: dict[Need, str | None] = {}
    for need, listing in zip(needs, listings(uris), strict=True):
        names = {entry.path for entry in listing.files} if listing else set()
        exists = listing is not None and (need.flag is None or need.flag in names)
        found[need] = fingerprint(listing) if listing is not None and exists else None
    return found


def local_listing(uri: str) -> FileListing | None:
    """The files of a local directory; None if it does not exist. Raises ActionFailed for more than
    MAX_FILES files.
    """
    root = unquote(urlsplit(uri).path)
    if not os.path.isdir(root):
        return None
    entries: list[FileEntry] = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError):  # deleted since the directory was read
                info = os.stat(path)
                entries.append(
                    FileEntry(os.path.relpath(path, root), info.st_size, info.st_mtime_ns // 10**6)
                )
        if len(entries) > MAX_FILES:
            raise ActionFailed(f"{uri} has more than {MAX_FILES} files", final=True)
    return FileListing(tuple(sorted(entries)))


def metastore_problems(
    entity: Entity, entity_set: EntitySet, user: str, catalogs: CatalogService = HIVE
) -> Iterator[DocumentProblem]:
    """The problems of a feed's tables in the metastores: missing, of another user, with other
    partition keys, or not copyable (FA-G3, FA-S2).

    A target's table may be missing, because replication creates it, except in a feed of paths.
    Raises MetastoreError if a metastore does not answer.
    """
    if isinstance(entity, Feed):
        for each in entity.clusters:
            yield from _table_problems(entity, each, entity_set, user, catalogs)


def _table_problems(
    feed: Feed,
    feed_cluster: FeedCluster,
    entity_set: EntitySet,
    user: str,
    catalogs: CatalogService,
) -> Iterator[DocumentProblem]:
    storage = feed.storage_on(feed_cluster)
    cluster = entity_set.clusters.get(feed_cluster.name)
    uri = storage.uri if isinstance(storage, TableStorage) else catalog_table(feed)
    if uri is None or cluster is None or not cluster.endpoint("registry"):
        return
    ref = uri.table
    try:
        with catalogs.connect(cluster, user) as client:
            table = client.get_table(ref)
    except NoSuchObject:
        if feed_cluster.role is Role.SOURCE or isinstance(storage, Paths):
            reason = f"table {ref} does not exist on cluster {feed_cluster.name}: create it first"
            yield DocumentProblem(storage.line, "table", reason)
        return
    if table.owner and table.owner != user:
        reason = (
            f"table {ref} on {feed_cluster.name} is owned by {table.owner}, the submitter is {user}"
        )
        yield DocumentProblem(storage.line, "table", reason)
    if (why := _why_not_replicated(feed, entity_set, table)) is not None:
        yield DocumentProblem(storage.line, "table", why)
    if (
        isinstance(storage, TableStorage)
        and (why := why_uri_does_not_fit(table, uri.whole)) is not None
    ):
        yield DocumentProblem(storage.line, "table", f"{why} (cluster {feed_cluster.name})")
        return
    kinds = kinds_of(table.partition_keys)
    for key, value in uri.keys:
        if key not in kinds:
            reason = f"{key} is not a partition key of {ref} on {feed_cluster.name}"
            yield DocumentProblem(storage.line, "table", reason)
        elif key not in uri.free and is_number(kinds[key]) and not is_numeric(value):
            reason = (
                f"{key} of {ref} on {feed_cluster.name} is {kinds[key]}: it cannot have {value}"
            )
            yield DocumentProblem(storage.line, "table", reason)


def why_uri_does_not_fit(table: Table, whole: bool) -> str | None:
    """Why a URI of partitions, or with `whole` of the whole table, does not fit the table; None if
    it does. Tables of Iceberg and Delta have no partitions in the metastore, so only a URI of the
    whole table fits them (falcon/whole_tables.py).
    """
    ref, keys = table.ref, ", ".join(name for name, _ in table.partition_keys)
    if not whole and not keys:
        form = open_format(table)
        what = f"is a table of {form} and " if form else ""
        uri = f"catalog:{ref.db}:{ref.name}#*"
        return f"{ref} {what}has no partition keys in the metastore: {uri} is the whole table"
    if whole and keys:
        return f"{ref} is partitioned by {keys}: the table's URI has to name these keys"
    if whole and is_hudi(table):
        return f"{ref} is an unpartitioned table of Hudi, of which there are no feeds"
    return None


def _why_not_replicated(feed: Feed, entity_set: EntitySet, table: Table) -> str | None:
    """Why the feed cannot copy the table, as a sentence; None if it can, or has no target."""
    if all(each.role is not Role.TARGET for each in feed.clusters):
        return None
    found = ((entity_set.clusters.get(each.name), feed.storage_on(each)) for each in feed.clusters)
    places = {
        (cluster.endpoint("registry"), storage.uri.table)
        for cluster, storage in found
        if cluster is not None and isinstance(storage, TableStorage)
    }
    return why_not_copied(table) if len(places) <= 1 else why_files_are_not_enough(table)
