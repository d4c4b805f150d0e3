"""Turns a statement's record into a row of the history."""

from collections.abc import Sequence

from database.history.schema import PHASES
from database.history.work import Row, weighed
from dialect.parsing.fingerprint import fingerprint
from proxy.operations.history.table_use import TableUse
from proxy.record.record import Record

MAX_NAME = 256  # characters of a user or database


def row_of(record: Record, uses: Sequence[TableUse], proxy: str) -> Row:
    """All columns of a statement's row; its texts are those of the audit log."""
    line = record.line()
    reads, writes = _documents(uses, is_write=False), _documents(uses, is_write=True)
    row = {
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
        "refused": record.refused,
        "state": record.state.name,
        "seconds": record.seconds,
        **dict.fromkeys(PHASES),
        **amounts_of(record),
        "error": line["error"],
        "blame": line["blame"],
    }
    return weighed(row)


def amounts_of(record: Record) -> Row:
    """The columns that may change after a statement's end."""
    phases = record.all_phases()
    return {
        **{name: phases.get(name) for name in PHASES},
        "rows": record.rows,
        "bytes": record.bytes,
        "closed": record.closed,
    }


def _documents(uses: Sequence[TableUse], is_write: bool) -> list[dict[str, object]]:
    return [each.document() for each in uses if each.is_write is is_write]


def _name(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}.."
