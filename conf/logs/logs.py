"""The log: lines of text for people, or of JSON, with the ids of the work that they are about.

A thread writes the lines, so that no client waits for a slow reader of standard error.
Text from outside cannot forge a line: every character that is not printable is escaped
(`conf.logs.printable`), and the lines of a traceback are marked.
"""

import logging
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from queue import Full, Queue
from typing import Any, TextIO

from conf.logs.log_fields import log_fields
from conf.logs.printable import escaped, json_text
from conf.settings.operating import LogFormat, LogLevel

MAX_WAITING = 10_000  # lines
_CLOSE = 1.0  # seconds in which `close` writes the waiting lines
ROOMS = (
    "advice",
    "cli",
    "conf",
    "console",
    "database",
    "dialect",
    "metastore",
    "pipeline",
    "proxy",
    "router",
    "saslauth",
    "telemetry",
    "thriftcodec",
)
"""Causeway's packages. `log.level` is the level of their loggers."""


class TextFormatter(logging.Formatter):
    """`2026-01-31 12:00:00,000 WARNING proxy.server.login: message [statement=.. session=..]`, then
    the lines of a traceback, each after `  | `."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        own = logging.makeLogRecord(record.__dict__)
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        text = record.getMessage() + (f" [{fields}]" if fields else "")
        own.msg, own.args, own.exc_text = escaped(text), (), None
        return super().format(own)

    def formatException(self, ei: Any) -> str:
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  | {escaped(line)}" for line in lines)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the ids, and `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{when}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json_text(line)


class BackgroundHandler(logging.Handler):
    """Formats a line in the caller's context, and writes it in another thread. If MAX_WAITING lines
    wait, a new one is dropped; `dropped` counts these."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.dropped = 0
        self._stream = stream
        self._queue: Queue[str | None] = Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._queue.put_nowait(self.format(record))
        except Full:
            self.dropped += 1
        except Exception:
            self.handleError(record)

    def _write_all(self) -> None:
        reported = 0
        while (line := self._queue.get()) is not None:
            if self.dropped > reported:
                reported = self.dropped
                line += f"\n{self.format(_dropped_lines(reported))}"
            with suppress(OSError, ValueError):  # the stream is closed, or its reader is gone
                self._stream.write(f"{line}\n")
                self._stream.flush()

    def close(self) -> None:
        """Writes the waiting lines, for a second at most."""
        with suppress(Full):
            self._queue.put(None, timeout=_CLOSE)
        self._thread.join(_CLOSE)
        super().close()


def _dropped_lines(dropped: int) -> logging.LogRecord:
    text = f"{dropped} lines of the log are missing, because nothing read them in time"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (), None)


def _fields(record: logging.LogRecord) -> Mapping[str, str]:
    own: Mapping[str, str] = getattr(record, "fields", {})
    fields = {**log_fields(), **own}
    return {name: value for name, value in fields.items() if value}


def configure_logs(form: LogFormat = LogFormat.TEXT, level: LogLevel = LogLevel.INFO) -> None:
    """Writes logs to standard error: warnings of libraries, and Causeway's lines from `level` on.

    It starts a thread, which inherits the signal mask.
    """
    handler = BackgroundHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter())
    logging.basicConfig(handlers=[handler], force=True)
    set_log_level(level)


def set_log_level(level: LogLevel) -> None:
    """Sets the level of Causeway's own loggers."""
    for room in ROOMS:
        logging.getLogger(room).setLevel(level.name)
