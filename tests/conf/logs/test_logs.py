"""Lines of the log: text and JSON, with the ids of what they are about, and never forged."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest

from conf.logs.log_fields import add_log_fields, environment, extra, log_fields, with_log_fields
from conf.logs.logs import MAX_WAITING, BackgroundHandler, JsonFormatter, TextFormatter

EVIL = "ann\x1b[2J\r\u202e\u2028\x9b"
SEEN = "ann\\x1b[2J\\r\\u202e\\u2028\\x9b"
PRINT = "from conf.logs.log_fields import *; inherit_log_fields(); print(dict(log_fields()))"


def record(message: str, *args: object, **more: Any) -> logging.LogRecord:
    error = more.pop("error", None)
    exc = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("proxy.x", 30, "x", 1, message, args, exc)
    made.__dict__.update(more)
    return made


def text(*args: Any, **more: Any) -> str:
    return TextFormatter().format(record(*args, **more)).split(" ", 2)[2]


def as_json(*args: Any, **more: Any) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(JsonFormatter().format(record(*args, **more)))
    return line


def test_a_line_has_level_logger_message_and_ids() -> None:
    with with_log_fields(statement="ab12", session="cd34"):
        line = text("connection to %s broke", "east", **extra(cluster="east"))
    assert line == (
        "WARNING proxy.x: connection to east broke [statement=ab12 session=cd34 cluster=east]"
    )
    assert text("quiet") == "WARNING proxy.x: quiet"


def test_json_has_the_ids_as_fields() -> None:
    with with_log_fields(statement="ab12"):
        line = as_json("connection to %s broke", "east", **extra(cluster="east"))
    assert (line["level"], line["logger"]) == ("WARNING", "proxy.x")
    assert line["message"] == "connection to east broke"
    assert (line["statement"], line["cluster"]) == ("ab12", "east")
    assert line["time"].endswith("Z")
    assert line["process"] == os.getpid()


def test_a_record_is_one_line() -> None:
    line = text("%s is refused", f"{EVIL}\n2026 ERROR forged", **extra(user=EVIL))
    assert line == f"WARNING proxy.x: {SEEN}\\n2026 ERROR forged is refused [user={SEEN}]"
    assert line.isprintable()
    assert JsonFormatter().format(record("%s", f"{EVIL}\nforged")).isprintable()


def test_the_lines_of_a_traceback_are_marked() -> None:
    try:
        raise ValueError(f"{EVIL}\n2026 ERROR forged")
    except ValueError as error:
        first, *rest = text("failed", error=error).split("\n")
        traceback = as_json("failed", error=error)["traceback"]
    assert traceback.endswith("\n2026 ERROR forged")
    assert first == "WARNING proxy.x: failed"
    assert all(line.startswith("  | ") and line.isprintable() for line in rest)
    assert rest[-1] == "  | 2026 ERROR forged"


def test_a_formatter_changes_no_record() -> None:
    made = record("%s", EVIL)
    TextFormatter().format(made)
    JsonFormatter().format(made)
    assert made.getMessage() == EVIL


def test_a_reader_that_stalls_does_not_block_the_caller() -> None:
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w")
    handler = BackgroundHandler(stream)
    handler.setFormatter(TextFormatter())
    for number in range(MAX_WAITING + 3_000):
        handler.handle(record("line %d %s", number, "x" * 60))
    assert handler.dropped > 0
    os.close(reading)
    handler.close()
    with suppress(BrokenPipeError):
        stream.close()


def test_missing_lines_are_reported() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        handler = BackgroundHandler(stream)
        handler.setFormatter(TextFormatter())
        handler.dropped = 3
        handler.handle(record("line"))
        handler.close()
    with os.fdopen(reading) as lines:
        first, second = lines
    assert first.endswith("proxy.x: line\n")
    assert "3 lines of the log are missing" in second


def test_lines_are_written_in_order_before_the_handler_closes() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        handler = BackgroundHandler(stream)
        handler.setFormatter(TextFormatter())
        for number in range(100):
            with with_log_fields(statement=str(number)):
                handler.handle(record("line"))
        handler.close()
    with os.fdopen(reading) as lines:
        found = [line.partition("statement=")[2] for line in lines]
    assert found == [f"{number}]\n" for number in range(100)]


def test_tasks_and_threads_inherit_fields_and_keep_their_own() -> None:
    async def task(number: int) -> tuple[dict[str, str], dict[str, str]]:
        add_log_fields(statement=str(number))
        await asyncio.sleep(0)
        return dict(log_fields()), dict(await asyncio.to_thread(log_fields))

    async def scenario() -> None:
        add_log_fields(connection="7")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(task(number)) for number in range(3)]
        for number, each in enumerate(tasks):
            fields = {"connection": "7", "statement": str(number)}
            assert each.result() == (fields, fields)
        assert dict(log_fields()) == {"connection": "7"}

    asyncio.run(scenario())


def _fields_of_child(env: dict[str, str]) -> bytes:
    child = subprocess.run([sys.executable, "-c", PRINT], env=env, capture_output=True, check=True)
    return child.stdout


@pytest.mark.parametrize("value", ["{", "[]", "7"])
def test_a_process_ignores_fields_that_are_no_object(value: str) -> None:
    assert _fields_of_child({**os.environ, "CAUSEWAY_LOG_FIELDS": value}) == b"{}\n"


def test_a_child_process_gets_the_fields() -> None:
    with with_log_fields(statement="ab12"):
        env = environment()
    assert _fields_of_child(env) == b"{'statement': 'ab12'}\n"
