"""The record of what `causeway advise --apply` did, which `--undo` reads."""

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from advice.errors import BadPlan

PATH = Path(".causeway/advice.json")


@dataclass(frozen=True, slots=True)
class AppliedAction:
    """An action that was applied: `make` or `drop` a copy, submit a `feed`, or `assign` a primary.
    `filter` and `partitions` are empty for the whole table. `feed` is the name of the feed,
    `source` the primary before."""

    action: str
    table: str
    cluster: str
    filter: str = ""
    partitions: tuple[str, ...] = ()
    feed: str = ""
    source: str = ""


@contextmanager
def record_lock(path: Path) -> Iterator[None]:
    """Locks the record at `path`. Raises BadPlan if another process holds the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadPlan(f"another process applies the advice of {path}.") from None
        yield


def read_record(path: Path) -> list[list[AppliedAction]]:
    """The actions of each run that are not undone, the newest run last. Raises BadPlan."""
    if not path.exists():
        return []
    try:
        return [
            [AppliedAction(**{**each, "partitions": tuple(each["partitions"])}) for each in run]
            for run in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadPlan(f"{path} cannot be read: {error}") from None


def write_record(path: Path, runs: Sequence[Sequence[AppliedAction]]) -> None:
    """Replaces the file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps([[asdict(each) for each in run] for run in runs], indent=1))
    beside.replace(path)
