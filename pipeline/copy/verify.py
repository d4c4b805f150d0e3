"""Compares copies with their primaries: `causeway copy verify`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName
from conf.placement import Copy
from conf.progress import Progress, no_progress
from pipeline.copy.copy_catalog import CatalogTable, DataObject, ObjectCatalog
from pipeline.copy.files import CopyOptions, FileCopy, FileListing, Files, FileStatus, compare
from pipeline.copy.iceberg_copy import read_state
from pipeline.errors import FilesNotEnough


@dataclass(frozen=True, slots=True)
class CopyDifference:
    """The difference between an object and its copy in a cluster."""

    name: str
    cluster: ClusterName
    difference: str


@dataclass(frozen=True, slots=True)
class Verification:
    """`compared`, `stale` and `missing` are numbers of objects. Stale copies are never read, so
    only fresh ones are compared; `missing` are objects without a copy.
    """

    findings: tuple[CopyDifference, ...]
    compared: int
    stale: int
    missing: int


def verify_copies(
    files: Files,
    objects: ObjectCatalog,
    table: CatalogTable,
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
        if target is None or source is None:
            missing = each.location if source is None else copy.location
            differences[each.name] = f"no directory {missing}"
            continue
        wanted = source
        if each.placement.metadata:
            difference, wanted = _compare_iceberg(files, each, copy, source, target)
        else:
            difference = _difference(source, target, table.delta)
        if difference:
            differences[each.name] = difference
        elif options.checksum:
            names[copy.location] = each.name
            to_compare += [FileCopy(each.location, copy.location, f) for f in wanted.files]
    for result in files.compare(to_compare, options, progress):
        if result.status is not FileStatus.KEPT:
            text = f"{result.status.value}: {result.file.entry.path} {result.message}".rstrip()
            differences.setdefault(names[result.file.target], text)
    current = objects.objects(objects.table(table.ref), list(differences))
    placements = {each.name: each.placement for each in current}
    findings = tuple(
        CopyDifference(each.name, cluster, differences[each.name])
        for each, _ in fresh
        if each.name in differences and placements.get(each.name) == each.placement
    )
    without = sum(copy is None for copy in copies.values())
    return Verification(findings, len(fresh), len(copies) - without - len(fresh), without)


def _difference(source: FileListing, target: FileListing, delta: bool) -> str:
    """Empty if there is none."""
    difference = compare(source, target)
    if delta:  # a copy keeps for its readers what the source has deleted
        difference = replace(difference, extra=())
    return str(difference) if difference else ""


def _compare_iceberg(
    files: Files, each: DataObject, copy: Copy, source: FileListing, target: FileListing
) -> tuple[str, FileListing]:
    """The difference, and the files of the source that the copy has unchanged. The copy's metadata
    names the same files with the lengths that they have there.
    """
    try:
        ours = read_state(files, each.location, each.placement.metadata)
        theirs = read_state(files, copy.location, copy.metadata)
    except FilesNotEnough as error:
        return f"its metadata {error}", source
    kept = FileListing(tuple(entry for entry in source.files if entry.path in ours.kept))
    lengths = {entry.path: entry.length for entry in target.files}
    difference = theirs.difference(lengths) or theirs.wrong_length(lengths)
    if not difference and (ours.kept != theirs.kept or ours.rewritten != theirs.rewritten):
        difference = "its metadata names other files"
    return difference, kept
