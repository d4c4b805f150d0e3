"""Figures of public traces, and random draws with which the simulated day has the same figures.

- Facebook's Hadoop trace of 2010 with input paths (SWIM, FB-2010_samples_24_times_1hr): 25,428 jobs
  a day read 17,158 paths, 1.21 PB; 1 % of the paths are in 26 % of the jobs; 31 % of the bytes were
  read before on that day.
- TPC-DS: the number of tables of its 99 queries, counted by the real analysis.
- More than 60 % of the statements of Amazon Redshift's fleet repeat an earlier text (Wu et al.,
  Stage: Query Execution Time Prediction in Amazon Redshift, 2024).

Draws keep these shares at any size: the number of paths grows with the number of jobs.
"""

from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from math import cos, pi
from random import Random

JOBS, PATHS = 25_428, 17_158
DISTINCT = PATHS / JOBS  # 0.675 paths for each job
TOP_SHARE = 0.26  # of the jobs read the 1 % of the paths that are read most
READ_AGAIN = 0.31  # of the bytes
REPEATED = 0.60  # of the texts, at least
TABLES_OF_QUERIES = {
    1: 2, 2: 2, 3: 17, 4: 24, 5: 23, 6: 16, 7: 8, 8: 2, 9: 2, 10: 1, 12: 1, 13: 1,
}  # fmt: skip

# Some jobs read one of few hot paths, the others any path. These values were found by trial; with
# them JOBS, PATHS and TOP_SHARE are reproduced.
HOT_JOBS = 0.25  # of the jobs
HOT_PATHS = 0.004  # for each job
COLD_JOBS_A_PATH = 0.19  # jobs that read any path, by the paths that there are
HOT_SMALL = 0.95  # of the tables may be hot: not the largest, so that READ_AGAIN holds
HOT_EXPONENT = 0.7  # of the popularity (Zipf) of hot paths and of dashboards
NEWER = 1.5  # the age of a cold path is drawn with this exponent: newer ones are read more

PERIODS = 96  # of a day, 15 minutes each
SECONDS = 86_400 // PERIODS


class Weighted:
    """Draws numbers 0.. by their weights."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._sums = list(accumulate(weights))

    @property
    def total(self) -> float:
        return self._sums[-1]

    def draw(self, random: Random) -> int:
        return min(bisect(self._sums, random.random() * self.total), len(self._sums) - 1)


def popular(random: Random, count: int, exponent: float = HOT_EXPONENT) -> int:
    """A number below `count` whose popularity falls with its rank (Zipf, an exponent below 1)."""
    return min(int(count * random.random() ** (1 / (1 - exponent))), count - 1)


def age_of(random: Random, days: int) -> int:
    """The age in days of one of a table's partitions, 1 to `days`."""
    return 1 + min(int(days * random.random() ** NEWER), days - 1)


def busyness(period: int) -> float:
    """How busy a period of 15 minutes is, 1 on average: most at 14:00, least at 2:00."""
    return 1 - 0.6 * cos(2 * pi * (period / PERIODS - 2 / 24))


def counts_of(statements: int) -> list[int]:
    """Statements by period; they add up."""
    sums = list(accumulate(busyness(period) for period in range(PERIODS)))
    until = [round(statements * each / sums[-1]) for each in sums]
    return [now - before for before, now in zip([0, *until], until, strict=False)]
