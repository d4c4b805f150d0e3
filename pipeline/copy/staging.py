"""Where copies lie in a target cluster, and who is working there.

    <root>/<db>.db/<table>/<run>/<object>          one fresh directory a copied object
    <root>/<db>.db/<table>/<run>/.causeway/run     the run's marker: who, since when, its last beat

Every run has its own directory and never writes into another's; what a dead run finished is
*moved* into the new run's directory, so that a run that only seemed dead cannot write there.
The metastore alone says what is in use: a directory that no copy refers to is rubbish.
"""

import json
import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from conf.names import TableRef

FOLDER = "causeway-copies"
LEASE_SECONDS = 300.0  # seconds after its last beat for which a run counts as alive
HEARTBEAT_SECONDS = 20.0
WHOLE_TABLE = "table"
MARKER, UNUSED, RETIRED = ".causeway/run", ".causeway/condemned", ".causeway/retired"
_LONGEST_NAME = 150
_LEVEL = "^"  # Hive escapes it in values, so that two partitions never share a directory
_RUN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class RunMarker:
    """What a run says of itself. Times are epoch seconds; `created` is the table's."""

    run: str
    table: str
    created: int
    beat: float
    where: str
    pid: int
    working: bool = False
    done: bool = False
    taken_by: str = ""

    def alive(self, now: float, here: str) -> bool:
        """Dead when it said so, when its process is gone, or when it stopped beating."""
        if self.done or self.taken_by or now - self.beat > LEASE_SECONDS:
            return False
        return self.where != here or Path(f"/proc/{self.pid}").exists()

    def beating(self, now: float) -> "RunMarker":
        return replace(self, beat=now)

    def at_work(self) -> "RunMarker":
        return replace(self, working=True)

    def done_with(self, now: float) -> "RunMarker":
        return replace(self, beat=now, done=True)

    def taken(self, by: str) -> "RunMarker":
        return replace(self, taken_by=by)

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "RunMarker | None":
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            return None


def new_run(ref: TableRef, created: int, now: float) -> RunMarker:
    """A marker of a run that starts now, in this process."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
    run = f"{stamp}-{secrets.token_hex(4)}"
    return RunMarker(run, str(ref), created, now, this_machine(), os.getpid())


def this_machine() -> str:
    """Names this boot of this machine and its process numbers; equal only where pids mean the
    same processes.
    """
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(path) if path.startswith("/proc/self") else _read(path))
        except OSError:
            parts.append("?")
    return " ".join(parts)


def staging_of(root: str, ref: TableRef) -> str:
    """The directory of all copies of a table below a cluster's `root`."""
    return f"{root.rstrip('/')}/{ref.db}.db/{ref.name}"


def default_root(filesystem: str) -> str:
    """Where a cluster's copies lie unless it is said otherwise."""
    return f"{filesystem.rstrip('/')}/{FOLDER}"


def marker_path(staging: str, run: str) -> str:
    return f"{staging}/{run}/{MARKER}"


def is_run(name: str) -> bool:
    """Only what looks like a run is ever swept."""
    return _RUN.fullmatch(name) is not None


def object_path(staging: str, run: str, name: str) -> str:
    """The directory of one object in one run: one level, so that a sweep need not guess."""
    flat = name.replace("/", _LEVEL) or WHOLE_TABLE
    if len(flat) > _LONGEST_NAME or flat.startswith("."):
        digest = blake2b(name.encode(), digest_size=6).hexdigest()
        flat = f"{flat[:_LONGEST_NAME].lstrip('.')}-{digest}"
    return f"{staging}/{run}/{flat}"


def read_unused(text: str | None) -> dict[str, float]:
    """When each object's directory was condemned, in epoch seconds."""
    try:
        value = json.loads(text or "{}")
        return {str(name): float(when) for name, when in value.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def unused_text(condemned: Mapping[str, float]) -> str:
    return json.dumps(dict(condemned))


def _read(path: str) -> str:
    return Path(path).read_text(encoding="ascii").strip()
