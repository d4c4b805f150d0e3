"""Compares copies with their primaries: `causeway copy verify`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName
from conf.placement import Copy
from conf.progress import Progress, no_progress
from pipeline.copy.copy_catalog import CatalogTable, DataObject, ObjectCatalog
from pipeline.copy.files import CopyOptions, FileCopy, FileListing, Files, FileStatus, compare
from pipeline.copy.formats.iceberg_copy import read_state
from pipeline.errors import FilesNotEnough


@dataclass(frozen=True, slots=True)
class CopyDifference:
    """How an object and its copy in a cluster differ, in words."""

    name: str
    cluster: ClusterName
    difference: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The differences found, and numbers of objects: `compared` have a fresh copy, `stale` a stale
    one, which no statement reads, and `missing` have none.
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
    option `checksum`. Differences of objects whose facts changed meanwhile are left out.
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
    """The difference in words; empty if there is none."""
    difference = compare(source, target)
    if delta:  # A copy keeps files for its readers that the source has deleted.
        difference = replace(difference, extra=())
    return str(difference) if difference else ""


def _compare_iceberg(
    files: Files, each: DataObject, copy: Copy, source: FileListing, target: FileListing
) -> tuple[str, FileListing]:
    """The difference in words, and the files of the source that the copy has unchanged. The copies
    are equal if the metadata of both names the same files and each has all that it names.
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
