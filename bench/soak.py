"""Mixed work for a while, with an eye on what grows: memory, sockets, sessions, operations.

    python -m bench.soak [--minutes 30] [--clients 12]

On an embedded stack of its own with two clusters: queries, writes, temporary views, settings, pins,
wrong statements, cancels, metadata calls, half-read results and clients that just go. Exits 1 when
something failed that should not have, or when something is left or kept growing.
"""

import argparse
import json
import random
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyhive import hive
from pyhive.exc import Error

from bench.crowd import family, memory
from bench.embedded import EAST, WEST, embedded
from cli.admin import call
from cli.stack.stack import Stack
from conf.load import load
from conf.operating import Operating

_GROWTH = 1.15  # of the memory, from the first third of the time to the end
_SETTLING = 20.0  # seconds in which what clients left has to be gone


@dataclass
class Tally:
    """What the clients did, and what should not have happened."""

    done: int = 0
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, failure: str | None = None) -> None:
        with self.lock:
            self.done += 1
            if failure is not None:
                self.failures.append(failure)


def work(port: int, number: int, until: float, tally: Tally) -> None:
    """One client after another, until the time is over."""
    dice = random.Random(number)
    while time.monotonic() < until:
        try:
            connection = hive.connect("127.0.0.1", port, username=f"user{number % 4}")
        except Exception as error:
            tally.add(f"connect: {error!r}")
            time.sleep(1.0)
            continue
        try:
            for _ in range(dice.randrange(1, 12)):
                _one(connection, dice, number, tally)
        finally:
            if dice.random() < 0.3:
                connection._transport.close()  # as one that is killed
            else:
                with suppress(Exception):
                    connection.close()


def _one(connection: Any, dice: random.Random, number: int, tally: Tally) -> None:
    cursor = connection.cursor()
    table = f"soak.t{number}"
    sql, expected = dice.choice(
        [
            ("SELECT 1", True),
            (f"SELECT count(*), max(a) FROM {table}", True),
            (f"INSERT INTO {table} VALUES ({dice.randrange(1000)})", True),
            (f"SELECT id, repeat('x', 100) FROM range({dice.randrange(1, 50_000)})", True),
            (f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT {dice.randrange(9)} AS n", True),
            ("SET spark.sql.shuffle.partitions = 2", True),
            (f"USE CLUSTER {dice.choice([EAST, WEST])}", True),
            ("USE CLUSTER", True),
            ("SHOW CLUSTERS", True),
            (f"EXPLAIN CLUSTER SELECT * FROM {table}", True),
            ("SELECT * FROM soak.nowhere", False),
            ("SELEC 1", False),
            ("SELECT count(*) FROM range(20000000) WHERE rand() < 0", None),
        ]
    )
    try:
        if expected is None:
            cursor.execute(sql, async_=True)
            time.sleep(dice.random() / 2)
            cursor.cancel()
            tally.add()
            return
        cursor.execute(sql)
        if dice.random() < 0.7:
            cursor.fetchmany(dice.choice([1, 10, 100_000]))
        tally.add(None if expected else f"{sql!r} should have failed")
    except Error as error:
        pinned = "CW" in str(error) and "pinned" in str(error).lower()
        tally.add(f"{sql!r}: {str(error)[:300]}" if expected and not pinned else None)
    except Exception as error:
        tally.add(f"{sql!r}: {error!r}")
        return
    if dice.random() < 0.5:
        with suppress(Error):
            cursor.close()


def sockets(pid: int) -> int:
    """Of the process and all that it started."""
    count = 0
    for each in family(pid):
        for entry in Path(f"/proc/{each}/fd").iterdir():
            with suppress(OSError):
                count += entry.readlink().name.startswith("socket:")
    return count


def left(operating: Operating) -> dict[str, int]:
    """Sessions and statements that are still there."""
    return {what: len(call(operating, "GET", f"/v1/{what}")) for what in ("sessions", "statements")}


def run(stack: Stack, port: int, minutes: float, clients: int) -> int:
    pid, operating = stack.pid("proxy"), load(stack.layout.endpoints).operating
    with hive.connect("127.0.0.1", port).cursor() as cursor:
        cursor.execute("CREATE DATABASE soak")
        for number in range(clients):
            cursor.execute(f"CREATE TABLE soak.t{number} (a INT)")
    tally, began = Tally(), time.monotonic()
    before = sockets(pid)
    until = began + minutes * 60
    threads = [
        threading.Thread(target=work, args=(port, number, until, tally))
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    sizes: list[int] = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(max(1.0, minutes))
        sizes.append(memory(pid)[0])
        minute = (time.monotonic() - began) / 60
        print(
            f"{minute:5.1f} min  {sizes[-1] / 1e6:7.1f} MB  {sockets(pid):4} sockets"
            f"  {tally.done:7,} statements  {len(tally.failures)} failures",
            flush=True,
        )
    deadline = time.monotonic() + _SETTLING
    while any(left(operating).values()) and time.monotonic() < deadline:
        time.sleep(0.5)
    third = sizes[len(sizes) // 3]
    report = {
        "statements": tally.done,
        "failures": tally.failures[:20],
        "memory": {"after a third": third, "at the end": sizes[-1]},
        "sockets": {"before": before, "after": sockets(pid)},
        "left": left(operating),
    }
    print(json.dumps(report, indent=2))
    grown = sizes[-1] > third * _GROWTH
    return 1 if tally.failures or grown or any(left(operating).values()) else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="(%(default)s)")
    parser.add_argument("--clients", type=int, default=12, help="at once (%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, WEST) as (stack, listen):
        return run(stack, listen.port, args.minutes, args.clients)


if __name__ == "__main__":
    raise SystemExit(main())
