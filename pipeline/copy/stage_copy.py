"""Stages one object: which of its files a copy gets, for tables of each format."""

from pipeline.copy.continue_copy import continued_copy
from pipeline.copy.delta_check import why_not_whole
from pipeline.copy.files import FileListing, Files
from pipeline.copy.iceberg_copy import staged_iceberg
from pipeline.copy.object_copy import CopyCatalog, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.errors import FilesNotEnough


def staged_copy(
    files: Files,
    item: PlannedCopy,
    target: str,
    source: FileListing,
    copy: FileListing | None,
) -> ObjectCopy:
    """The copy of an object into the directory `target` of a run. `copy` are the files of the copy
    that may be continued, listed before `source`. Raises FilesNotEnough.
    """
    if item.metadata:
        return staged_iceberg(files, item, target, source, copy)
    if item.delta and (why := why_not_whole(files, item.source, source)):
        raise FilesNotEnough(why)
    return ObjectCopy(item, target, source, continued_copy(files, item, source, copy))


def is_current(files: Files, catalog: CopyCatalog, item: PlannedCopy, source: FileListing) -> bool:
    """Whether the source is still as it was listed."""
    if not item.metadata:
        return files.listings([item.source])[0] == source
    now, _ = catalog.current({item.name: item})
    return any(each.metadata == item.metadata for each in now)
