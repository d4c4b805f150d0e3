"""The form of the log: text for people, or JSON, with the ids of what a line is about.

Text from outside cannot forge a line: every character that is not printable is escaped
(`conf.printable`), and the lines of a traceback are marked.
"""

import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

from conf.log_fields import log_fields
from conf.printable import escaped, json_text
from conf.settings.operating import LogFormat, LogLevel

_ROOMS = ("cli", "conf", "dialect", "metastore", "pipeline", "proxy", "router")


class TextFormatter(logging.Formatter):
    """`2026-01-31 12:00:00,000 WARNING proxy.server.tls: message [statement=.. session=..]`, then
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


def _fields(record: logging.LogRecord) -> Mapping[str, str]:
    own: Mapping[str, str] = getattr(record, "fields", {})
    fields = {**log_fields(), **own}
    return {name: value for name, value in fields.items() if value}


def configure_logs(form: LogFormat = LogFormat.TEXT, level: LogLevel = LogLevel.INFO) -> None:
    """Writes logs to standard error. Libraries log warnings; `level` is that of Causeway."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter())
    logging.basicConfig(handlers=[handler], force=True)
    set_log_level(level)


def set_log_level(level: LogLevel) -> None:
    """Sets the level of Causeway's own loggers."""
    for room in _ROOMS:
        logging.getLogger(room).setLevel(level.name)
