"""Sorts input paths into those of incremental Hudi tables, other Hudi tables, and others (HU-2)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.hudi.flags import Conf, incremental_tables, uses_database
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.table import HudiTable, find_base, open_table


@dataclass(slots=True)
class InputPaths:
    """The paths of a job. `tables`, their `names` in the job, and the paths in `incremental` and
    `snapshot` tables are by base path.
    """

    tables: dict[str, HudiTable] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    incremental: dict[str, list[str]] = field(default_factory=dict)
    snapshot: dict[str, list[str]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)


def classify(paths: Iterable[str], conf: Conf, storage: HudiStorage) -> InputPaths:
    """Classifies each path. A table is opened at its first path, and recognised by `base` or
    `base/`, so that `trips` and `trips_v2` are different tables.
    """
    found = InputPaths()
    incremental = set(incremental_tables(conf))
    by_database = uses_database(conf)
    for path in (p.rstrip("/") for p in paths):
        base = next((b for b in found.tables if within(path, b)), None)
        if base is None:
            base = find_base(path, storage)
            if base is None:
                found.other.append(path)
                continue
            table = open_table(base, storage)
            found.tables[base] = table
            found.names[base] = f"{table.database}.{table.name}" if by_database else table.name
        group = found.incremental if found.names[base] in incremental else found.snapshot
        group.setdefault(base, []).append(path)
    return found


def within(path: str, base: str) -> bool:
    """Whether a path is a folder or is below it."""
    return path == base or path.startswith(base + "/")
