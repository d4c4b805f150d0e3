"""Sends records of ended copies and instances to the history and to telemetry."""

import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from cli.lifecycle.lifecycle_options import named_settings
from conf.errors import BadSetting
from conf.settings.settings import Settings
from database.history.work import WorkRecord
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.work_records import record_of

if TYPE_CHECKING:
    from database.history.history_thread import HistoryThread

QueryHistory = Callable[[str, Mapping[str, str]], dict[str, Any]]


class WorkQueue(Protocol):
    """A thread that writes or sends records. It drops and counts the records that it cannot."""

    @property
    def dropped(self) -> int: ...

    @property
    def waiting(self) -> int: ...

    def start(self) -> None: ...

    def put(self, entry: WorkRecord) -> None: ...

    def close(self) -> None: ...


class WorkObserver:
    """Sends records to the destinations in the settings. `server` names this process in records of
    instances. With `deletes` it also deletes old rows of the history, as servers do. Entering
    starts the threads; leaving waits a few seconds at most for queued records.

    Raises BadSetting.
    """

    def __init__(self, settings: Settings, server: str = "", deletes: bool = False) -> None:
        self._server = server
        self._history = _history(settings, deletes)
        found = {"history": self._history, "telemetry": _telemetry(settings)}
        self.queues: Mapping[str, WorkQueue] = {
            name: queue for name, queue in found.items() if queue is not None
        }
        self._exits = ExitStack()

    def __enter__(self) -> "WorkObserver":
        for each in self.queues.values():
            each.start()
            self._exits.callback(each.close)
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    @property
    def history(self) -> QueryHistory | None:
        """Answers requests for the history (`HistoryStore.answer`); None if there is no history."""
        thread = self._history
        return None if thread is None else lambda *request: thread.history_store().answer(*request)

    def record(self, record: WorkRecord) -> None:
        """Queues the record of an ended copy or instance."""
        for each in self.queues.values():
            each.put(record)

    def changed(self, change: Change, now: datetime) -> None:
        """Queues the record of a change that ended an attempt or an instance."""
        record = record_of(change, now, self._server)
        if record is not None:
            self.record(record)


def environment_observer(server: str) -> WorkObserver:
    """The observer for the settings that CAUSEWAY_CONF names, if any. Raises CausewayError."""
    named = named_settings()
    return WorkObserver(named[0] if named else Settings(), server)


def _history(settings: Settings, deletes: bool) -> "HistoryThread[WorkRecord] | None":
    operating = settings.operating
    if not operating.history_store:
        return None
    from database.history.history_thread import (  # SQLAlchemy is large
        HistoryThread,
        Retention,
        WorkBatch,
    )

    retention = Retention(operating.history_age, operating.history_size) if deletes else None
    return HistoryThread[WorkRecord](operating.history_store, WorkBatch, retention)


def _telemetry(settings: Settings) -> WorkQueue | None:
    """Raises BadSetting."""
    if not settings.telemetry.traces and not settings.telemetry.lineage:
        return None
    try:
        from pipeline.work_telemetry import WorkTelemetry  # its libraries are an extra
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"telemetry.* needs {error.name}: pip install 'causeway[telemetry]'"
        ) from None
    metastore = str(settings.metastores[0]) if settings.metastores else "metastore"
    try:
        return WorkTelemetry(settings.telemetry, metastore, socket.gethostname())
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"telemetry.openlineage.token.file: {error}") from None
