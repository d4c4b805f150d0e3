"""The obstacles summed up from the counts of days equal those counted from the statements."""

import os
import random
from collections import Counter
from typing import Any

from sqlalchemy import text

from conf.names import ClusterName, TableRef
from database.database import open_database
from database.history.history_store import DAY, HistoryStore
from database.history.work import Row
from proxy.operations.history.row import row_of
from proxy.protocol.types import OperationState
from router.obstacles import Considered, Obstacle, ObstacleKind
from tests.proxy.operations.history.records import record

CLUSTERS = [ClusterName("east"), ClusterName("west")]
TABLES = [TableRef("sales", name) for name in ("orders", "items", "shops")]
DAYS = 4
Group = tuple[str, str, str]


def _seeded() -> random.Random:
    seed = int(os.environ.get("CAUSEWAY_SEED", str(random.randrange(1 << 30))))
    print(f"CAUSEWAY_SEED={seed}")
    return random.Random(seed)


def _refused(number: int, draw: random.Random) -> Row:
    """A refused statement of one of `DAYS` days."""
    considered = []
    for cluster in CLUSTERS:
        lacking = draw.sample(TABLES, draw.randint(0, 2))
        obstacles = [
            Obstacle(
                cluster,
                draw.choice([ObstacleKind.ABSENT, ObstacleKind.STALE]),
                table,
                partitions=partitions,
            )
            for table in lacking
            for partitions in (draw.choice([None, draw.randint(1, 9)]),)
        ]
        considered.append(Considered(cluster, "inputs", False, tuple(obstacles)))
    made = record(number, code="CW104", state=OperationState.ERROR, considered=tuple(considered))
    made.began = draw.uniform(1000.0, DAYS * DAY)
    made.user = draw.choice(["ann", "bob", "cem"])
    return row_of(made, (), "proxy1")


def _one_by_one(rows: list[Row]) -> dict[Group, dict[str, Any]]:
    """The expected result of `refusals` for these statements."""
    found: dict[Group, dict[str, Any]] = {}
    for row in rows:
        for considered in row["considered"]:
            for each in considered["obstacles"]:
                group = found.setdefault(
                    (each["table"], each["cluster"], each["kind"]),
                    {"statements": 0, "freed": 0, "users": set(), "partitions": None, "days": []},
                )
                group["statements"] += 1
                group["freed"] += len(considered["obstacles"]) == 1
                group["users"].add(row["user_name"])
                group["days"].append(f"1970-01-{int(row['began'] // DAY) + 1:02}")
                numbers = [n for n in (group["partitions"], each["partitions"]) if n is not None]
                group["partitions"] = max(numbers, default=None)
    return {
        group: each | {"users": len(each["users"]), "days": dict(Counter(each["days"]))}
        for group, each in found.items()
    }


def _asked(store: HistoryStore, **parameters: str) -> dict[Group, dict[str, Any]]:
    names = ("statements", "freed", "users", "partitions", "days")
    return {
        (each["table"], each["cluster"], each["kind"]): {name: each[name] for name in names}
        for each in store.answer("refusals", parameters)["refusals"]
    }


def test_counts_by_day_are_those_of_the_statements(url: str) -> None:
    draw = _seeded()
    store, rows = HistoryStore(url), [_refused(number, draw) for number in range(300)]
    for first in range(0, len(rows), 50):
        for _ in range(2):  # repeating it changes nothing
            store.put(rows[first : first + 50], {})
    for deleted in (0.0, draw.uniform(0.0, 2 * DAY), draw.uniform(2 * DAY, 3 * DAY)):
        store.forget(deleted, 0)
        rows = [each for each in rows if each["began"] >= deleted]
        times = [0.0, 2.0 * DAY, *(draw.uniform(0.0, DAYS * DAY) for _ in range(3))]
        for since in times:
            kept = [each for each in rows if each["began"] >= since]
            assert _asked(store, since=str(since)) == _one_by_one(kept)
            ann = [each for each in kept if each["user_name"] == "ann"]
            assert _asked(store, since=str(since), user="ann") == _one_by_one(ann)


def test_migrating_an_older_history_counts_its_refusals(url: str) -> None:
    draw = _seeded()
    store = HistoryStore(url)
    store.put([_refused(number, draw) for number in range(50)], {})
    before = _asked(store)
    with open_database(url).transaction() as connection:
        connection.execute(text("DROP TABLE history_refused"))
        connection.execute(text("DROP TABLE history_refused_user"))
        connection.execute(text("UPDATE history_revision SET version_num = '0003'"))
    assert before
    assert _asked(HistoryStore(url)) == before
