"""A statement's record as a row of the history, and a row as JSON types."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conf.times import utc
from proxy.operations.history.fingerprint import fingerprint
from proxy.operations.history.schema import PHASES
from proxy.operations.history.table_use import TableUse
from proxy.operations.record import Record

MAX_NAME = 256  # characters of a user or database
_OVERHEAD = 500  # bytes of a row beside its texts, about
_RENAMED = {"user_name": "user", "acting_user": "by"}
_LEFT_OUT = frozenset((*PHASES, "weight", "began"))

Row = dict[str, Any]


def row_of(record: Record, uses: Sequence[TableUse], proxy: str) -> Row:
    """All columns of a statement's row, of the texts as the audit log has them."""
    line = record.line()
    reads, writes = _documents(uses, is_write=False), _documents(uses, is_write=True)
    row: Row = {
        "statement": record.statement,
        "proxy": proxy,
        "session": record.session,
        "user_name": _name(record.user),
        "acting_user": _name(record.by),
        "address": record.address,
        "application": record.application,
        "began": record.began,
        "text": line["text"],
        "length": record.text.length,
        "sha256": record.text.hash,
        "fingerprint": fingerprint(record.text.head + record.text.tail),
        "database": _name(record.database),
        "cluster": record.cluster,
        "rule": record.rule,
        "because": line["because"],
        "considered": line["considered"],
        "reads": reads,
        "writes": writes,
        "code": record.code,
        "refused": bool(record.code) and "execute" not in record.phases,
        "state": record.state.name,
        "seconds": record.seconds,
        **dict.fromkeys(PHASES),
        **amounts_of(record),
        "error": line["error"],
        "blame": line["blame"],
    }
    row = {name: _storable(value) for name, value in row.items()}
    lists = sum(len(json.dumps(row[name])) for name in ("considered", "reads", "writes"))
    texts = sum(len(value) for value in row.values() if isinstance(value, str))
    return row | {"weight": _OVERHEAD + lists + texts}


def amounts_of(record: Record) -> Row:
    """The columns that change after a statement's end."""
    phases = record.all_phases()
    return {
        **{name: phases.get(name) for name in PHASES},
        "rows": record.rows,
        "bytes": record.bytes,
        "closed": record.closed,
    }


def document_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as the REST API and `causeway history` show it."""
    shown = {_RENAMED.get(name, name): row[name] for name in row if name not in _LEFT_OUT}
    phases = {name: round(row[name], 6) for name in PHASES if row[name] is not None}
    seconds = None if row["seconds"] is None else round(row["seconds"], 6)
    return {"time": utc(row["began"]), **shown, "seconds": seconds, "phases": phases}


def _documents(uses: Sequence[TableUse], is_write: bool) -> list[dict[str, object]]:
    return [each.document() for each in uses if each.is_write is is_write]


def _name(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}.."


def _storable(value: Any) -> Any:
    """A text that both databases take: without NUL and halves of surrogate pairs."""
    if isinstance(value, str) and not value.isprintable():
        return value.replace("\0", "�").encode(errors="replace").decode()
    return value
