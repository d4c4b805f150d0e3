"""Compares copies with their primaries: `causeway copy verify`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName
from conf.progress import Progress, no_progress
from pipeline.copy.copy_catalog import DataObject, ObjectCatalog, TableState
from pipeline.copy.files import CopyOptions, FileCopy, FileListing, Files, FileStatus, compare


@dataclass(frozen=True, slots=True)
class Finding:
    """The difference between an object and its copy in a cluster."""

    name: str
    cluster: ClusterName
    difference: str


@dataclass(frozen=True, slots=True)
class Verification:
    """`compared`, `stale` and `missing` are numbers of objects. Stale copies are never read, so
    only fresh ones are compared; `missing` are objects without a copy.
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
    """Compares every fresh copy in the cluster by paths and lengths, and by checksums with the
    option `checksum`.

    An object whose facts changed during the comparison is not among the findings.
    """
    copies = {each.name: each.placement.copy_in(cluster) for each in chosen}
    fresh = [
        (each, copy)
        for each in chosen
        if (copy := copies[each.name]) is not None and each.placement.is_fresh(copy)
    ]
    sources = files.listings([each.location for each, _ in fresh])
    targets = files.listings([copy.location for _, copy in fresh])
    differences: dict[str, str] = {}
    to_compare: list[FileCopy] = []
    names: dict[str, str] = {}
    for (each, copy), source, target in zip(fresh, sources, targets, strict=True):
        difference = compare(source or FileListing(()), target or FileListing(()))
        if table.delta:  # a copy keeps for its readers what the source has deleted
            difference = replace(difference, extra=())
        if target is None or source is None:
            missing = each.location if source is None else copy.location
            differences[each.name] = f"no directory {missing}"
        elif difference:
            differences[each.name] = str(difference)
        elif options.checksum:
            names[copy.location] = each.name
            to_compare += [FileCopy(each.location, copy.location, f) for f in source.files]
    for result in files.compare(to_compare, options, progress):
        if result.status is not FileStatus.KEPT:
            text = f"{result.status.value}: {result.file.entry.path} {result.message}".rstrip()
            differences.setdefault(names[result.file.target], text)
    current = objects.objects(objects.table(table.ref), list(differences))
    placements = {each.name: each.placement for each in current}
    findings = tuple(
        Finding(each.name, cluster, differences[each.name])
        for each, _ in fresh
        if each.name in differences and placements.get(each.name) == each.placement
    )
    without = sum(copy is None for copy in copies.values())
    return Verification(findings, len(fresh), len(copies) - without - len(fresh), without)
