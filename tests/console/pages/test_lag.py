"""Lag over time, and what is copied."""

import os
import random
from typing import Any

from console.facts.lag_curve import MAX_POINTS, lag_points
from tests.console.browser import opened
from tests.console.fake_places import behind, entities, instance, parted, placed
from tests.console.fake_sources import fake_sources, open_app

SEED = int(os.environ.get("CAUSEWAY_SEED", "20"))


def test_lag_grows_from_the_oldest_instance_that_has_not_ended() -> None:
    points = lag_points([(10, 15), (20, None)], 0, 30)
    assert points == [(0, 0), (10, 0), (10, 0), (15, 5), (15, 0), (20, 0), (20, 0), (30, 10)]


def test_a_younger_instance_that_ended_does_not_end_the_lag_of_an_older_one() -> None:
    points = dict(lag_points([(0, 30), (10, 12)], 5, 40))
    assert points[12] == 12
    assert points[30] == 0


def test_lag_is_that_of_the_definition_at_every_time() -> None:
    print("seed", SEED)
    chance = random.Random(SEED)
    for _ in range(50):
        made = []
        for _ in range(chance.randrange(1, 20)):
            due = chance.randrange(100)
            made.append((due, chance.choice([None, due + chance.randrange(1, 50)])))
        points = lag_points(made, 20, 120)
        for begin, value in points[::2]:  # from each time on
            waiting = [due for due, end in made if due <= begin and (end is None or end > begin)]
            assert value == (begin - min(waiting) if waiting else 0)


def test_a_curve_of_many_instances_keeps_its_peaks() -> None:
    made: list[tuple[float, float | None]] = [(n, n + 0.5) for n in range(5_000)]
    made.append((2_500.0, 2_600.0))
    points = lag_points(made, 0, 5_000)
    assert len(points) <= MAX_POINTS + 2
    assert max(value for _, value in points) == 100


def test_the_page_has_a_curve_against_the_agreed_lag() -> None:
    sources = fake_sources()
    fake: Any = sources.lifecycle
    fake.stored, fake.behind = entities(), [behind(20_000.0), behind(1, action="process")]
    fake.known = [instance(hours) for hours in range(6, 40)]
    fake.known += [instance(5, "FAILED"), instance(4, "RUNNING"), instance(3, "WAITING")]
    history: Any = sources.history
    history.answers["copies"] = {
        "copies": [
            {
                "ended": "2026-01-31T00:00:00.000Z",
                "table": "s.orders",
                "from": "east",
                "to": "west",
                "state": "FAILED",
                "partitions": 3,
                "files": None,
                "bytes": 8_000_000,
                "seconds": 4.0,
                "error": "no space left",
            }
        ]
    }
    metastore: Any = sources.metastore
    metastore.put("s.items", placed(False, 7200))
    metastore.put("w.visits", placed(), parted(10, range(3)))
    proxies: Any = sources.proxies
    proxies.copying = [
        {
            "table": "w.visits",
            "partitions": 0,
            "source": "west",
            "target": "east",
            "statement": "ab" * 16,
            "bytes": 3_000_000,
            "total": 9_000_000,
            "seconds": 2.0,
            "rate": 1_500_000,
        }
    ]
    text = opened(open_app(sources)).get("/lag").text
    assert text.count('class="target"') == 1
    assert "agreed 3.0 h" in text
    assert "5.6 h behind" in text
    assert "2.0 MB" in text.split('id="copies"')[1]  # a second
    assert "3 of 10" in text.split('id="stale"')[1]
    assert "clicks" in text.split('id="running"')[1].split("</table>")[0]
    making = text.split('id="making"')[1].split("</table>")[0]
    assert all(each in making for each in ("w.visits", "all", "3.0 MB", "9.0 MB", "1.5 MB"))
    assert f'href="/statements/{"ab" * 16}"' in making
    assert "no space left" in text.split('id="failed"')[1]


def test_what_does_not_answer_leaves_the_rest() -> None:
    sources = fake_sources()
    fake: Any = sources.lifecycle
    fake.down = True
    metastore: Any = sources.metastore
    metastore.put("s.items", placed(False))
    answer = opened(open_app(sources)).get("/lag")
    assert answer.status == 200
    assert "the lifecycle: 127.0.0.1:9999: Connection refused" in answer.text
    assert "s.items" in answer.text
