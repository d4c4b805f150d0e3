"""Ended copies and instances: as records, as rows of the history, and as JSON values."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from conf.formats import utc

MAX_NAMED = 100  # partitions in a row
MAX_TEXT = 16 << 10  # characters of an error or result
_OVERHEAD = 500  # bytes of a row beside its texts, about

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CopyRecord:
    """One run of the copy engine from one cluster to another.

    `id` and `trace` have 32 hexadecimal digits. `trace` is the id of the statement or instance that
    started the copy, or else the copy's own; the descriptions of its Spark jobs begin with it.
    `run` names the run in its events and directories. `statement`, `instance` and `entity` are
    empty unless a statement or an instance started it. `source` and `target` are clusters; for a
    copy of directories `table` and `target_table` are URIs. `location` is the directory of the
    copies. `partitions` is None for a whole table; `objects` has the first copied partitions and
    the write versions of their source. `files` and `bytes` are the size of the copies, None if
    unknown; `sent` counts bytes sent over the network. `copied` and `failed` count objects. Times
    are Unix times.
    """

    id: str
    run: str
    table: str
    target_table: str
    source: str
    target: str
    location: str
    started: float
    ended: float
    partitions: int | None = None
    objects: Sequence[tuple[str, str]] = ()
    copied: int = 0
    failed: int = 0
    files: int | None = None
    bytes: int | None = None
    sent: int = 0
    error: str = ""
    statement: str = ""
    instance: str = ""
    entity: str = ""
    trace: str = ""

    @property
    def kept(self) -> int:
        """The approximate size in memory."""
        return _OVERHEAD + len(self.error) + 100 * len(self.objects)

    @property
    def state(self) -> str:
        """SUCCEEDED, PARTIAL or FAILED."""
        if not self.error and not self.failed:
            return "SUCCEEDED"
        return "PARTIAL" if self.copied else "FAILED"

    def row(self) -> Row:
        """All columns of its row."""
        row = asdict(self)
        del row["copied"]
        row["copy"], row["table_name"] = row.pop("id"), row.pop("table")
        row["state"], row["error"] = self.state, self.error[:MAX_TEXT]
        row["objects"] = [
            {"partition": name, "version": version} for name, version in self.objects[:MAX_NAMED]
        ]
        return weighed(row)


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """An ended attempt of an instance, or an instance that ended without an attempt.

    `id` has 32 hexadecimal digits (`instance_id`). `state` is that of the instance, or RETRIED if
    another attempt follows. `detail` is the result of the work or the reason of its failure.
    `inputs` and `outputs` are tables (`database.table`) or URIs. Times are Unix times.
    """

    id: str
    kind: str
    name: str
    action: str
    cluster: str
    source: str
    nominal: float
    run: int
    attempt: int
    state: str
    started: float | None
    ended: float
    bytes: int | None = None
    detail: str = ""
    server: str = ""
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()

    @property
    def kept(self) -> int:
        """The approximate size in memory."""
        return _OVERHEAD + len(self.detail)

    @property
    def error(self) -> str:
        """The reason of a failure; empty after a success."""
        return "" if self.state in ("SUCCEEDED", "SKIPPED") else self.detail[:MAX_TEXT]

    def row(self) -> Row:
        """All columns of its row."""
        row = asdict(self)
        del row["inputs"], row["outputs"]
        row["instance"] = row.pop("id")
        return weighed(row | {"detail": self.detail[:MAX_TEXT], "error": self.error})


WorkRecord = CopyRecord | InstanceRecord


def instance_id(key: str, fence: int) -> str:
    """The id of an attempt of the instance `key`, whose fence was `fence` during the attempt."""
    return sha256(f"{key} {fence}".encode()).hexdigest()[:32]


def weighed(row: Row) -> Row:
    """The row with its `weight`, its approximate size in bytes, and with texts that both databases
    can store.
    """
    row = {name: storable(value) for name, value in row.items()}
    texts = sum(len(value) for value in row.values() if isinstance(value, str))
    lists = sum(len(json.dumps(value)) for value in row.values() if isinstance(value, list))
    return row | {"weight": _OVERHEAD + lists + texts}


def storable(value: Any) -> Any:
    """A text without NUL and lone surrogates, which the databases cannot store."""
    if isinstance(value, str) and not value.isprintable():
        return value.replace("\0", "�").encode(errors="replace").decode()
    return value


def copy_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """A copy's row as the REST API and `causeway history copies` show it."""
    left_out = ("started", "ended", "weight", "table_name", "source", "target")
    return {
        "time": utc(row["ended"]),
        "copy": row["copy"],
        "table": row["table_name"],
        "from": row["source"],
        "to": row["target"],
        **{name: row[name] for name in row if name not in left_out},
        "started": utc(row["started"]),
        "ended": utc(row["ended"]),
        "seconds": round(row["ended"] - row["started"], 3),
    }


def instance_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """An instance's row as the REST API and `causeway history instances` show it."""
    times = {"started": row["started"] and utc(row["started"]), "ended": utc(row["ended"])}
    nominal = datetime.fromtimestamp(row["nominal"], UTC).strftime("%Y-%m-%dT%H:%MZ")
    shown = {name: row[name] for name in row if name not in ("weight", *times)}
    return {"time": utc(row["ended"]), **shown, "nominal": nominal, **times}
