"""The settings of a job that the input format reads, by Hudi's names (HU-10)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.hudi.errors import BadRange

Conf = Mapping[str, str]

USE_DATABASE = "hoodie.incremental.use.database"
HOLES = "hoodie.read.timeline.holes.resolution.policy"
_MODE = re.compile(r"^hoodie\.(.*)\.consume\.mode$")
_ALL_COMMITS = -1


@dataclass(frozen=True, slots=True)
class Flags:
    """A job's settings for one table. `start` None is not set, `max_commits` None is no limit."""

    start: str | None = None
    max_commits: int | None = 1
    stop_at_compaction: bool = True
    as_of: str | None = None
    pending: bool = False
    holes: str = "FAIL"


def incremental_tables(conf: Conf) -> tuple[str, ...]:
    """The tables with `hoodie.<t>.consume.mode=INCREMENTAL`, by the names that the job uses."""
    return tuple(
        match[1]
        for key, value in conf.items()
        if (match := _MODE.match(key)) and value.strip().upper() == "INCREMENTAL"
    )


def uses_database(conf: Conf) -> bool:
    """Whether the job names tables with their databases."""
    return _boolean(conf, USE_DATABASE, default=False)


def table_flags(conf: Conf, table: str) -> Flags:
    """The settings of the table with the job's name `table`. Raises BadRange."""
    prefix = f"hoodie.{table}."
    limit = conf.get(f"{prefix}consume.max.commits", "1").strip()
    try:
        commits = int(limit)
    except ValueError:
        raise BadRange(f"{prefix}consume.max.commits={limit} is no number.") from None
    return Flags(
        start=conf.get(f"{prefix}consume.start.timestamp"),
        max_commits=None if commits == _ALL_COMMITS else commits,
        stop_at_compaction=_boolean(conf, f"{prefix}ro.stop.at.compaction", default=True),
        as_of=conf.get(f"{prefix}consume.commit"),
        pending=_boolean(conf, f"{prefix}consume.pending.commits", default=False),
        holes=conf.get(HOLES, "FAIL").strip().upper(),
    )


def _boolean(conf: Conf, key: str, default: bool) -> bool:
    """A boolean as Hadoop reads it: any value but `true` and `false` is the default."""
    value = conf.get(key, "").strip().lower()
    return value == "true" if value in ("true", "false") else default
