"""Comparing copies with their primaries: `causeway copy verify`."""

from collections.abc import Sequence
from dataclasses import dataclass

from conf.names import ClusterName
from pipeline.copy.copy_catalog import DataObject, ObjectCatalog, TableState
from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileListing,
    Files,
    FileStatus,
    Progress,
    compare,
    no_progress,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with the copy of an object in a cluster."""

    name: str
    cluster: ClusterName
    difference: str


@dataclass(frozen=True, slots=True)
class Verification:
    """`stale` copies are never read, so that only fresh ones are compared; `missing` counts the
    objects without a copy.
    """

    findings: tuple[Finding, ...]
    compared: int
    stale: int
    missing: int


def verify_copies(
    files: Files,
    objects: ObjectCatalog,
    table: TableState,
    chosen: Sequence[DataObject],
    cluster: ClusterName,
    options: CopyOptions,
    progress: Progress = no_progress,
) -> Verification:
    """Compares every fresh copy in the cluster by paths and lengths, and by checksums if asked.

    An object whose facts changed while it was compared is left out of the findings.
    """
    held = {e.name: e.placement.copy_in(cluster) for e in chosen}
    fresh = [(e, c) for e in chosen if (c := held[e.name]) is not None and e.placement.is_fresh(c)]
    sources = files.listings([each.location for each, _ in fresh])
    targets = files.listings([copy.location for _, copy in fresh])
    wrong: dict[str, str] = {}
    orders: list[FileCopy] = []
    owner: dict[str, str] = {}
    for (each, copy), source, target in zip(fresh, sources, targets, strict=True):
        difference = compare(source or FileListing(()), target or FileListing(()))
        if target is None or source is None:
            wrong[each.name] = f"no directory {each.location if source is None else copy.location}"
        elif difference:
            wrong[each.name] = str(difference)
        elif options.checksum:
            owner[copy.location] = each.name
            orders += [FileCopy(each.location, copy.location, entry) for entry in source.files]
    for result in files.compare(orders, options, progress):
        if result.status is not FileStatus.KEPT:
            path = result.order.entry.path
            said = f"{result.status.value}: {path} {result.message}".rstrip()
            wrong.setdefault(owner[result.order.target], said)
    now = {e.name: e.placement for e in objects.objects(objects.table(table.ref), list(wrong))}
    findings = tuple(
        Finding(each.name, cluster, wrong[each.name])
        for each, _ in fresh
        if each.name in wrong and now.get(each.name) == each.placement
    )
    missing = sum(copy is None for copy in held.values())
    return Verification(findings, len(fresh), len(held) - missing - len(fresh), missing)
