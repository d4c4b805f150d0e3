"""Replays the texts of a log in several processes."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from advice.demand import DistinctText, TextCounts
from advice.replay import ReplayOutcome, replay
from advice.stock import Stock
from conf.names import TableRef
from dialect.parsing.fingerprint import fingerprint
from dialect.statement import Namespace, Needs

_CHUNK = 500  # texts that a process replays at a time
_FEW = 2 * _CHUNK  # texts; fewer are replayed without processes
_ROUNDS = 64  # rounds of loading tables: views may name further tables

Load = Callable[[Iterable[TableRef]], None]


@dataclass(frozen=True, slots=True)
class _Task:
    stock: Stock
    namespaces: Sequence[Namespace]

    def run(self, works: Sequence[DistinctText]) -> list[ReplayOutcome | Needs]:
        return [
            replay(work.text, self.namespaces[work.namespace], self.stock, work.at)
            for work in works
        ]


_task: _Task | None = None  # set before the processes are forked, which inherit it


def replayed(
    tally: TextCounts, stock: Stock, load: Load | None, processes: int
) -> Iterator[tuple[DistinctText, ReplayOutcome]]:
    """Yields the outcome of each text. `load` adds missing tables to the stock; None if the stock
    is complete."""
    task = _Task(stock, tally.namespaces)
    works = sorted(tally.counts, key=lambda work: (work.text, work.namespace, work.day or 0))
    if load is not None:
        _load_tables(works, task, load)
    for _ in range(_ROUNDS):
        pending: list[DistinctText] = []
        needed: set[TableRef] = set()
        for work, outcome in _outcomes(works, task, processes):
            if isinstance(outcome, Needs):
                pending.append(work)
                needed |= outcome.tables
            else:
                yield work, outcome
        if not pending or load is None:
            return
        load(sorted(needed))
        works = pending


def _load_tables(works: Sequence[DistinctText], task: _Task, load: Load) -> None:
    """Loads the tables that one text of each template needs; other texts rarely need more."""
    pending = list({(fingerprint(work.text), work.namespace): work for work in works}.values())
    for _ in range(_ROUNDS):
        found = task.run(pending)
        needs = [each.tables for each in found if isinstance(each, Needs)]
        if not needs:
            return
        load(sorted(frozenset().union(*needs)))
        both = zip(pending, found, strict=True)
        pending = [work for work, each in both if isinstance(each, Needs)]


def _outcomes(
    works: Sequence[DistinctText], task: _Task, processes: int
) -> Iterator[tuple[DistinctText, ReplayOutcome | Needs]]:
    if processes <= 1 or len(works) <= _FEW:
        yield from zip(works, task.run(works), strict=True)
        return
    global _task
    _task = task  # inherited by the forked processes
    chunks = [works[at : at + _CHUNK] for at in range(0, len(works), _CHUNK)]
    try:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            for chunk, found in zip(chunks, pool.imap(_run, chunks), strict=True):
                yield from zip(chunk, found, strict=True)
    finally:
        _task = None


def _run(works: Sequence[DistinctText]) -> list[ReplayOutcome | Needs]:
    assert _task is not None
    return _task.run(works)
