"""The directories in which copies are made, and the markers of the runs that work there.

    <root>/<db>.db/<table>/<run>/<object>          one directory for each object that is copied
    <root>/<db>.db/<table>/<run>/.causeway/run     the run's marker
    <root>/<db>.db/<table>/.causeway/open/<run>/   an open run: it works, or left unpublished files

A run looks at the markers of open runs only, so that its cost does not grow with the number of
earlier runs. A sweep looks at every run.

Each run writes into its own directory only. Files that an interrupted run had finished are *moved*
into the directory of the next run, so a run that only seemed interrupted cannot write to them any
more. A directory is in use if a copy in the metastore refers to it; any other may be deleted.
"""

import json
import os
import re
import secrets
import socket
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from conf.names import TableRef

FOLDER = "causeway-copies"
LEASE_SECONDS = 300.0  # A run without a heartbeat for so long counts as interrupted.
HEARTBEAT_SECONDS = 20.0
WHOLE_TABLE = "table"
MARKER, CONDEMNED, RETIRED = ".causeway/run", ".causeway/condemned", ".causeway/retired"
GONE = ".causeway/gone"
OPEN = ".causeway/open"
_LONGEST_NAME = 150
_MOST_OBJECTS = 1000  # names in a marker; the marker of a run of more objects is for all of them
_LEVEL = "^"  # Hive escapes it in values, so that two partitions never share a directory.
_RUN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")
# The fields of RunMarker that have another key in the file.
_KEYS = {"heartbeat": "beat", "machine": "where"}
_FIELDS = {key: field for field, key in _KEYS.items()}


@dataclass(frozen=True, slots=True)
class RunMarker:
    """The state of one run. Times are epoch seconds; `created` is the table's time of creation.

    `objects` are the names of the objects that it copies; empty: all of the table. `working` is set
    when the run has found no other run that copies them; `taken_by` is the run that took over its
    directories.
    """

    run: str
    table: str
    created: int
    heartbeat: float
    machine: str
    pid: int
    working: bool = False
    done: bool = False
    taken_by: str = ""
    objects: tuple[str, ...] = ()

    def shares_objects(self, other: "RunMarker") -> bool:
        """Whether both runs copy one object, so that only one of them may work."""
        if not self.objects or not other.objects:
            return True
        return not set(self.objects).isdisjoint(other.objects)

    def is_alive(self, now: float, machine: str) -> bool:
        """Whether the run works: it has not ended, it sends heartbeats, and its process exists if
        it is one of `machine`.
        """
        if self.done or self.taken_by or now - self.heartbeat > LEASE_SECONDS:
            return False
        return self.machine != machine or Path(f"/proc/{self.pid}").exists()

    def with_heartbeat(self, now: float) -> "RunMarker":
        return replace(self, heartbeat=now)

    def as_working(self) -> "RunMarker":
        return replace(self, working=True)

    def as_done(self, now: float) -> "RunMarker":
        return replace(self, heartbeat=now, done=True)

    def as_taken(self, by: str) -> "RunMarker":
        return replace(self, taken_by=by)

    def to_text(self) -> str:
        return json.dumps({_KEYS.get(field, field): v for field, v in asdict(self).items()})

    @classmethod
    def from_text(cls, text: str) -> "RunMarker | None":
        """The marker in a file; None if the text is no marker."""
        try:
            values = {_FIELDS.get(key, key): v for key, v in json.loads(text).items()}
            return cls(**values | {"objects": tuple(values.get("objects", ()))})
        except (ValueError, TypeError, AttributeError):
            return None


def new_run(ref: TableRef, created: int, now: float, objects: Collection[str] = ()) -> RunMarker:
    """The marker of a run of this process that starts now, and copies `objects` (empty: all)."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S")
    run = f"{stamp}-{secrets.token_hex(4)}"
    names = tuple(objects) if len(objects) <= _MOST_OBJECTS else ()
    return RunMarker(run, str(ref), created, now, this_machine(), os.getpid(), objects=names)


def this_machine() -> str:
    """Identifies a boot of a machine and a namespace of its process ids. Within one identity a
    process id means one process.
    """
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(path) if path.startswith("/proc/self") else _read(path))
        except OSError:
            parts.append("?")
    return " ".join(parts)


def staging_of(root: str, ref: TableRef) -> str:
    """The staging directory of a table below a cluster's `root`."""
    return f"{root.rstrip('/')}/{ref.db}.db/{ref.name}"


def default_root(filesystem: str) -> str:
    """The root of a cluster's copies, unless the operator names another."""
    return f"{filesystem.rstrip('/')}/{FOLDER}"


def marker_path(staging: str, run: str) -> str:
    return f"{staging}/{run}/{MARKER}"


def open_path(staging: str, run: str) -> str:
    """The directory that exists while a run is open."""
    return f"{staging}/{OPEN}/{run}"


def is_run(name: str) -> bool:
    """Whether a directory has the name of a run. A sweep touches no other directory."""
    return _RUN.fullmatch(name) is not None


def object_path(staging: str, run: str, name: str) -> str:
    """The directory of an object in a run: always one level below the run, because a sweep deletes
    by this level.
    """
    flat = name.replace("/", _LEVEL) or WHOLE_TABLE
    if len(flat) > _LONGEST_NAME or flat.startswith("."):
        digest = blake2b(name.encode(), digest_size=6).hexdigest()
        flat = f"{flat[:_LONGEST_NAME].lstrip('.')}-{digest}"
    return f"{staging}/{run}/{flat}"


def is_whole_table(staging: str, location: str) -> bool:
    """Whether a location is the directory of a run in this staging directory that copied a whole
    table.
    """
    head, _, name = location.rpartition("/")
    folder, _, run = head.rpartition("/")
    return folder == staging and is_run(run) and name == WHOLE_TABLE


def gone_path(location: str) -> str:
    """The file that names the files of a copy that its source no longer has."""
    run, _, name = location.rpartition("/")
    return f"{run}/{GONE}/{name}"


def read_condemned(text: str | None) -> dict[str, float]:
    """When each directory of a run, or file of a copy, was condemned, in epoch seconds."""
    try:
        value = json.loads(text or "{}")
        return {str(name): float(when) for name, when in value.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def condemned_text(condemned: Mapping[str, float]) -> str:
    """The text that `read_condemned` reads."""
    return json.dumps(dict(condemned))


def _read(path: str) -> str:
    return Path(path).read_text(encoding="ascii").strip()
