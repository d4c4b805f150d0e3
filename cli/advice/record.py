"""What `causeway advise --apply` did, so that `--undo` can take it back."""

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from advice.errors import BadPlan

PATH = Path(".causeway/advice.json")


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done: `make` or `drop` a copy, `feed`, or `assign` a primary. `filter` and
    `partitions` are empty where all of the table was meant; `feed` is the name of a feed, `source`
    the primary before."""

    action: str
    table: str
    cluster: str
    filter: str = ""
    partitions: tuple[str, ...] = ()
    feed: str = ""
    source: str = ""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Only one process at a time applies advice or takes it back. Raises BadPlan."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadPlan(f"another process applies the advice of {path}.") from None
        yield


def read_record(path: Path) -> list[list[Done]]:
    """What was done and not undone, the newest last. Raises BadPlan."""
    if not path.exists():
        return []
    try:
        return [
            [Done(**{**each, "partitions": tuple(each["partitions"])}) for each in run]
            for run in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadPlan(f"{path} cannot be read: {error}") from None


def write_record(path: Path, runs: Sequence[Sequence[Done]]) -> None:
    """Replaces the file at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps([[asdict(each) for each in run] for run in runs], indent=1))
    beside.replace(path)
