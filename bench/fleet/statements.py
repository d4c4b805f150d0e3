"""Draws the statements of the day by the figures of the traces, and measures their figures."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from bench.fleet.fleet import Fleet
from bench.fleet.shapes import (
    COLD_JOBS_A_PATH,
    HOT_JOBS,
    HOT_PATHS,
    HOT_SMALL,
    PERIODS,
    SECONDS,
    Weighted,
    age_of,
    counts_of,
    popular,
)
from bench.fleet.templates import VARIANTS, Template, Templates, templates_of

JOBS, DASHBOARDS = 4_500, 4_500  # statements of an area; pipelines run about 1,000 times
_MOST = 0xFFFF


class Drawn(NamedTuple):
    """A statement: the template, and the age of the day that it names."""

    template: Template
    age: int


@dataclass(slots=True)
class Shapes:
    """The figures of the day's statements, for comparison with the traces."""

    jobs: int = 0
    bytes: float = 0.0
    read_again: float = 0.0
    statements: int = 0
    repeated: int = 0


class Statements:
    """Draws the reads of the day, and counts their figures."""

    def __init__(self, fleet: Fleet, seed: int) -> None:
        self._fleet = fleet
        self._random = Random(seed + 2)
        paths = JOBS * (1 - HOT_JOBS) / COLD_JOBS_A_PATH
        self.templates: Templates = templates_of(fleet, seed, paths)
        days = [fleet.days[each.main] for each in self.templates.jobs]
        self._by_days = Weighted(days)
        self._first = array("L", [0])
        for each in days:
            self._first.append(self._first[-1] + each)
        by_size = sorted(
            range(len(days)), key=lambda n: fleet.bytes_of(self.templates.jobs[n].main)
        )
        hot = round(JOBS * fleet.areas * HOT_PATHS)
        self._hot = self._random.sample(by_size[: int(HOT_SMALL * len(days))], hot)
        self._read = array("H", [0]) * self._first[-1]  # jobs by path
        self._joined = bytearray(fleet.tables)  # read by a job
        self._shown = bytearray(len(self.templates.dashboards) * VARIANTS)
        self._offsets = [self._random.random() for _ in self.templates.pipelines]
        self._counts = counts_of((JOBS + DASHBOARDS) * fleet.areas)
        self.shapes = Shapes()

    def count(self, period: int) -> int:
        """The reads of a period."""
        return self._counts[period]

    def draw(self) -> Drawn:
        """The next read."""
        if self._random.random() * (JOBS + DASHBOARDS) < JOBS:
            return self._job()
        number = popular(self._random, len(self.templates.dashboards))
        text = number * VARIANTS + self._random.randrange(VARIANTS)
        self._note(bool(self._shown[text]))
        self._shown[text] = 1
        found = self.templates.dashboards[number]
        return Drawn(found, found.window)

    def _job(self) -> Drawn:
        random = self._random
        if random.random() < HOT_JOBS:
            number, age = self._hot[popular(random, len(self._hot))], 1
        else:
            number = self._by_days.draw(random)
            age = age_of(random, self._fleet.days[self.templates.jobs[number].main])
        job = self.templates.jobs[number]
        path = self._first[number] + age - 1
        times = self._read[path]
        self._read[path] = min(times + 1, _MOST)
        self._note(bool(times))
        self.shapes.jobs += 1
        self._bytes(self._fleet.bytes_of(job.main), bool(times))
        for table in job.joined:
            self._bytes(self._fleet.bytes_of(table), bool(self._joined[table]))
            self._joined[table] = 1
        return Drawn(job, age)

    def _bytes(self, size: float, again: bool) -> None:
        self.shapes.bytes += size
        self.shapes.read_again += size if again else 0.0

    def _note(self, repeated: bool) -> None:
        self.shapes.statements += 1
        self.shapes.repeated += repeated

    def runs(self, period: int) -> Iterator[tuple[float, Drawn]]:
        """The pipelines that begin in a period, with their times."""
        start, end = period * SECONDS, (period + 1) * SECONDS
        for template, offset in zip(self.templates.pipelines, self._offsets, strict=True):
            between = PERIODS * SECONDS / template.runs
            first = -int(-(start - offset * between) // between)
            for number in range(max(first, 0), template.runs):
                at = (number + offset) * between
                if at >= end:
                    break
                self._note(number > 0)
                yield at, Drawn(template, 1)

    def document(self) -> dict[str, Any]:
        """The shares that the traces have, too."""
        shapes, times = self.shapes, sorted((each for each in self._read if each), reverse=True)
        return {
            "jobs": shapes.jobs,
            "paths": len(times),
            "paths_a_job": round(len(times) / max(shapes.jobs, 1), 4),
            "jobs_of_top_paths": round(
                sum(times[: max(len(times) // 100, 1)]) / max(shapes.jobs, 1), 4
            ),
            "bytes": round(shapes.bytes),
            "bytes_read_again": round(shapes.read_again / max(shapes.bytes, 1.0), 4),
            "texts_repeated": round(shapes.repeated / max(shapes.statements, 1), 4),
        }
