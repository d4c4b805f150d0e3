"""What the history costs the event loop, and how long a search of a long one takes.

    python -m bench.statements.history [--blocks 25] [--statements 1000000]

1. The record of a statement, made, ended and closed, with a history and without, in this process:
   processor time of the calling thread.
2. One `causeway serve` of one worker before a fake Thrift Server and metastore. Signals switch its
   history on and off, since two processes differ by more than the history costs. Blocks of
   statements alternate. A client's time is that of a statement with its rows; the kernel counts the
   processor time of the thread of the event loop, and of all threads. Run it on an idle machine.
3. Searches of a SQLite history of so many statements: wall and processor time.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, median, stdev
from types import SimpleNamespace
from typing import Any

from bench.proxy import RawClient, read_and_close
from bench.statements.processor import (
    BLOCK,
    PAUSE,
    WARM,
    Used,
    fake_cluster_process,
    fake_metastore,
    settings_of,
    started,
)
from bench.support.dashboard import LITERAL, POINT, Question
from cli.stack.stack import free_ports
from conf.names import ClusterName, TableRef
from database.history.history_store import HistoryStore
from database.history.work import CopyRecord, InstanceRecord, Row
from dialect.statement import Known, Read
from proxy.operations.history.history_runner import HistoryRunner
from proxy.operations.history.row import row_of
from proxy.operations.history.table_use import TableUse
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from proxy.protocol.cluster_calls import RemoteSession
from proxy.protocol.types import OperationState
from proxy.record.record import Record
from proxy.record.statement_text import StatementText
from router.obstacles import Considered, Obstacle, ObstacleKind

_RECORDS = 1_000  # in a block
_ON, _OFF = signal.SIGUSR1, signal.SIGUSR2
_WRITTEN = 0.7  # seconds; by then the history has written what it was given
_SWITCHED = """
import signal
import sys

from cli.main import main
from proxy.operations.observer import Observer

plain = Observer.__init__
histories = {}


def remember(self, *args, **kwargs):
    plain(self, *args, **kwargs)
    histories[self] = self.history


def switch(number, frame):
    for observer, history in histories.items():
        observer.history = history if number == signal.SIGUSR1 else None


Observer.__init__ = remember
for number in (signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, switch)
sys.exit(main())
"""
_FILL = 5_000  # rows in a transaction
_USERS, _TABLES = 200, 500
_SEARCHES: tuple[tuple[str, dict[str, str]], ...] = (
    ("statements", {}),
    ("statements", {"user": "user7"}),
    ("statements", {"user": "nobody"}),
    ("statements", {"table": "sales.t7"}),
    ("statements", {"table": "sales.t7", "refused": "true"}),
    ("statements", {"cluster": "west", "refused": "true"}),
    ("statements", {"slower_than": "10000"}),
    ("statements", {"user": "user7", "slower_than": "590", "since": "0"}),
    ("refusals", {}),
    ("refusals", {"since": "1729000000"}),
    ("refusals", {"user": "user7"}),
    ("lineage", {}),
    ("lineage", {"since": "1729000000"}),
    ("copies", {}),
    ("copies", {"table": "sales.t7"}),
    ("copies", {"to": "west", "state": "FAILED"}),
    ("traffic", {}),
    ("instances", {"name": "feed7"}),
    ("instances", {"state": "KILLED"}),
)
_WORK = 100_000  # copies and as many instances


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.history", description=__doc__)
    parser.add_argument("--blocks", type=int, default=25, help="(%(default)s)")
    parser.add_argument(
        "--statements", type=int, default=1_000_000, help="of the history searched (%(default)s)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(record_line(Path(folder), args.blocks), flush=True)
        for line in (*paired(Path(folder), args.blocks), *searches(Path(folder), args.statements)):
            print(line, flush=True)


def record_line(folder: Path, blocks: int) -> str:
    history = HistoryRunner(str(folder / "records.db"), "bench")
    history.start()
    plain, kept = Observer(Metrics()), Observer(Metrics(), None, history)
    times: dict[Observer, list[float]] = {plain: [], kept: []}
    for _ in range(blocks):
        for observer, found in times.items():
            found.append(_records(observer) * 1e6 / _RECORDS)
            while history.waiting:
                time.sleep(0.01)
    history.close()
    without, with_history = (median(found) for found in times.values())
    more = with_history - without
    return f"a record: {without:.1f} us, with a history {with_history:.1f} us, {more:.1f} us more"


def _records(observer: Observer) -> float:
    """Seconds of this thread's processor time for a block of records."""
    began = time.thread_time()
    for number in range(_RECORDS):
        operation: Any = SimpleNamespace(record=_record(number))
        observer.ended(operation)
        observer.closed(operation)
    return time.thread_time() - began


def _record(number: int) -> Record:
    record = Record("ann", "ann", "127.0.0.1", "reports", "s", "default", f"{number:032x}")
    record.text = StatementText.of(f"SELECT name, city FROM shops WHERE shop = {number}")
    record.analysis = Known("select", reads=(Read(TableRef("sales", "shops")),))
    record.rule, record.cluster, record.because = "inputs", "east", "sales.shops is in east"
    for phase in ("analyse", "decide", "connect", "execute"):
        record.mark(phase)
    record.end(OperationState.FINISHED, None)
    return record


def paired(folder: Path, blocks: int) -> Iterator[str]:
    with ExitStack() as exits:
        cluster, _ = exits.enter_context(fake_cluster_process())
        metastore = exits.enter_context(fake_metastore())
        listen, *views = free_ports(3)
        conf = folder / "switched.toml"
        store = f'history.store = "{folder / "switched.db"}"\n'
        conf.write_text(settings_of(listen, cluster, metastore, views) + store)
        exits.enter_context(started(conf, "metastore", "serve", lines=2))
        pid = exits.enter_context(started(conf, "serve", program=("-c", _SWITCHED)))
        client = exits.enter_context(RawClient(listen))
        session = client.open()
        for question in (LITERAL, POINT):
            _asked(client, session, question, WARM, 0)
            # By mode: seconds of a statement, of the event loop's thread, of all threads.
            found: dict[signal.Signals, list[tuple[float, float, float]]] = {_OFF: [], _ON: []}
            for number in range(2 * blocks):
                mode = (_OFF, _ON)[number % 2]
                os.kill(pid, mode)
                time.sleep(_WRITTEN)
                before = _loop(pid), Used.by(pid).seconds
                waited = _asked(client, session, question, BLOCK, WARM + number * BLOCK)
                time.sleep(_WRITTEN)
                loop = (_loop(pid) - before[0]) / BLOCK
                found[mode].append((waited, loop, (Used.by(pid).seconds - before[1]) / BLOCK))
            plain = [median(each) * 1e3 for each in zip(*found[_OFF], strict=True)]
            pairs = [
                [(b - a) * 1e3 for a, b in zip(*each, strict=True)]
                for each in zip(found[_OFF], found[_ON], strict=True)
            ]
            more = [_estimate(each) for each in zip(*pairs, strict=True)]
            yield (
                f"{question.name}: a client waits {plain[0]:.3f} ms, with a history {more[0]} ms;"
                f" the event loop uses {plain[1]:.3f} ms, with a history {more[1]} ms;"
                f" all threads {plain[2]:.3f} ms, with a history {more[2]} ms"
            )


def _estimate(pairs: tuple[float, ...]) -> str:
    """The mean difference of pairs without the outer tenths, and its standard error."""
    inner = sorted(pairs)[len(pairs) // 10 : len(pairs) - len(pairs) // 10]
    return f"{mean(inner):+.3f} (+- {stdev(inner) / len(inner) ** 0.5:.3f})"


def _asked(
    client: RawClient, session: RemoteSession, question: Question, count: int, first: int
) -> float:
    """The median of the seconds that a client waits for one of these statements and its rows."""
    found = []
    for number in range(first, first + count):
        began = time.perf_counter()
        read_and_close(client, client.execute(session, question.text(number)))
        found.append(time.perf_counter() - began)
        time.sleep(PAUSE)
    return median(found)


def _loop(pid: int) -> float:
    """Seconds of processor time of a process's first thread, which runs the event loop."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def searches(folder: Path, count: int) -> Iterator[str]:
    store = HistoryStore(str(folder / "searched.db"))
    began = time.perf_counter()
    for first in range(0, count, _FILL):
        store.put([_row(number) for number in range(first, min(first + _FILL, count))], {})
    for first in range(0, _WORK, _FILL):
        copies = [_copy(number).row() for number in range(first, first + _FILL)]
        store.put_work(copies, [_instance(n).row() for n in range(first, first + _FILL)])
    size = (folder / "searched.db").stat().st_size / 2**30
    spent = time.perf_counter() - began
    yield f"{count:,} statements written in {spent:.0f} s, {size:.1f} GiB"
    for question, parameters in _SEARCHES:
        wall, used = [], []
        for _ in range(5):
            before = time.perf_counter(), time.process_time()
            answer = store.answer(question, parameters)
            found = len(answer["edges" if question == "lineage" else question])
            wall.append(time.perf_counter() - before[0])
            used.append(time.process_time() - before[1])
        yield (
            f"{found:4} {question} found by {parameters or 'nothing'}: {min(wall) * 1e3:.0f} ms,"
            f" {min(used) * 1e3:.0f} ms of processor time"
        )


def _row(number: int) -> Row:
    """One of a year's statements: a tenth is refused, few are slow."""
    if number < 2 * _TABLES:
        names = f"sales.t{number % _TABLES}", f"sales.t{number * 7 % _TABLES}"
        uses = [TableUse(names[0], is_write=False)]
        if number % 5 == 0:
            uses.append(TableUse(names[1], is_write=True))
        _ROWS[number % _TABLES] = row_of(_record(number), tuple(uses), "bench")
    refused = number % 10 == 0
    return _ROWS[number % _TABLES] | {
        "statement": f"{number:032x}",
        "began": 1.7e9 + number * 30.0,
        "user_name": f"user{number * 7919 % _USERS}",
        "cluster": "" if refused else ("east", "west")[number % 5 == 0],
        "refused": refused,
        "considered": _lacking(number) if refused else [],
        "state": "ERROR" if refused else "FINISHED",
        "code": "CW104" if refused else "",
        "seconds": number * 104_729 % 600_000 / 1000,
    }


def _lacking(number: int) -> list[dict[str, object]]:
    """East lacks one table, west another one and the same."""
    tables = [TableRef("sales", f"t{number * each % _TABLES}") for each in (3, 11)]
    names = ClusterName("east"), ClusterName("west")
    return [
        Considered(
            name,
            "inputs",
            False,
            tuple(Obstacle(name, ObstacleKind.ABSENT, table) for table in tables[: each + 1]),
        ).document()
        for each, name in enumerate(names)
    ]


def _copy(number: int) -> CopyRecord:
    table, began = f"sales.t{number % _TABLES}", 1.7e9 + number * 300.0
    failed = number % 1000 == 0
    return CopyRecord(
        id=f"{number:032x}",
        run=f"r{number}",
        table=table,
        target_table=table,
        source="east",
        target="west",
        location="hdfs://west:8020/copies",
        started=began,
        ended=began + 9.0,
        objects=[("", "w1")],
        copied=0 if failed else 1,
        files=5,
        bytes=1 << 20,
        sent=1 << 20,
        error="no space" if failed else "",
    )


def _instance(number: int) -> InstanceRecord:
    began = 1.7e9 + number * 300.0
    return InstanceRecord(
        id=f"{number:032x}",
        kind="feed",
        name=f"feed{number % 50}",
        action="replicate",
        cluster="west",
        source="east",
        nominal=began,
        run=0,
        attempt=1,
        state="SUCCEEDED",
        started=began,
        ended=began + 9.0,
        bytes=1 << 20,
        detail="5 files",
        server="host:1",
    )


_ROWS: dict[int, Row] = {}

if __name__ == "__main__":
    main()
