"""Conditions on partition keys, answered for a million partitions in milliseconds.

A condition on one key is tried once per distinct value; one on several is first tried key by
key, the others left open, and then on the partitions that remain.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product

from conf.partitions import PartitionKey, PartitionSet
from dialect.pruning.evaluate import TODAY, Bind, T, truth
from dialect.pruning.selections import remembered
from dialect.pruning.terms import (
    Constant,
    Members,
    Operation,
    ScanColumn,
    Term,
    columns_of,
    conjuncts,
)
from dialect.pruning.values import DEFAULT_PARTITION, INTEGERS, MAYBE, Guess, family, stored
from dialect.statement import ALL, PartitionPredicate


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions that must all be possible. A key is a Column by its lower-case name."""

    terms: tuple[Term, ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        days = _days(self.terms)
        return remembered(self, partitions, days, lambda: self._select(partitions, days))

    def _select(self, partitions: PartitionSet, days: Sequence[date | None]) -> range | list[int]:
        rows: set[int] | None = None
        for day in days:
            found = self.rows(partitions, day, Work())
            if len(found) == len(partitions):
                return range(len(partitions))
            rows = set(found) if rows is None else rows | set(found)
        return sorted(rows or ())

    def rows(self, partitions: PartitionSet, day: date | None, work: "Work") -> range | list[int]:
        """The rows that remain on that day, as far as the work allows."""
        allowed: list[set[str] | None] = [None] * len(partitions.keys)
        several: list[Term] = []
        for term in self.terms:
            keys = _positions(term, partitions.keys)
            if not keys and not truth(term, _bound({}, day)) & T:
                return []
            for key in keys:
                _narrow(partitions, key, term, day, allowed, work)
            if len(keys) > 1:
                several.append(term)
        rows = _rows(partitions, allowed)
        for term in several:
            rows = _filtered(partitions, rows, term, day, work)
        return rows

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return tuple(
            self._texts_of(key.name.lower()) if key.type == "string" else None for key in keys
        )

    def _texts_of(self, key: str) -> frozenset[str] | None:
        found: frozenset[str] | None = None
        for term in self.terms:
            own = _required(term, key)
            if own is not None:
                found = own if found is None else found & own
        return found


# Parts of conditions that are worked out in one selection: some seconds. What is not tried
# leaves nothing out.
MAX_WORK = 1_500_000
_A_ROW = 10  # what a row costs beside


@dataclass(slots=True)
class Work:
    left: int = MAX_WORK

    def allows(self, term: Term, count: int, each: int = 0) -> bool:
        cost = count * ((term.size if isinstance(term, Operation) else 1) + each)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def _days(terms: Iterable[Term]) -> Sequence[date | None]:
    """The dates that `current_date` may be where the statement runs: every zone's today."""
    if not any(_asks_today(term) for term in terms):
        return (None,)
    today = datetime.now(UTC).date()
    return tuple(today + timedelta(days=shift) for shift in (-1, 0, 1))


def _asks_today(term: Term) -> bool:
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Operation):
            if each.name == "current_date":
                return True
            waiting.extend(each.args)
    return False


def _positions(term: Term, keys: Sequence[PartitionKey]) -> list[int]:
    names = {column.name for column in columns_of(term)}
    return [at for at, key in enumerate(keys) if key.name.lower() in names]


def _bound(values: dict[str, Guess], day: date | None) -> Bind:
    def bind(column: ScanColumn) -> Guess:
        if column is TODAY:
            return MAYBE if day is None else day
        return values.get(column.name, MAYBE)

    return bind


def _narrow(
    partitions: PartitionSet,
    key: int,
    term: Term,
    day: date | None,
    allowed: list[set[str] | None],
    work: Work,
) -> None:
    """Leave out the values of one key that make the condition impossible."""
    name, kind = partitions.keys[key].name.lower(), partitions.keys[key].type
    before = allowed[key]
    candidates: Collection[str] = partitions.distinct(key) if before is None else before
    texts = _required(term, name) if family(kind) == "text" else None
    if texts is not None:
        candidates = [
            text
            for text in texts
            if partitions.rows_with(key, text) and (before is None or text in before)
        ]
    plain = _plain_comparison(term, kind)
    if plain is not None:
        allowed[key] = {text for text in candidates if plain(text)}
        return
    if not work.allows(term, len(candidates)):
        if texts is not None:
            allowed[key] = set(candidates)
        return
    values: dict[str, Guess] = {}
    bind = _bound(values, day)
    kept = set()
    for text in candidates:
        for guess in _meanings(text, kind):
            values[name] = guess
            if truth(term, bind) & T:
                kept.add(text)
    allowed[key] = kept


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _plain_comparison(term: Term, kind: str) -> Callable[[str], bool] | None:
    """Compares a text key with a text directly, without terms: there are many days."""
    if kind != "string" or not isinstance(term, Operation) or term.name not in _COMPARISONS:
        return None
    left, right = term.args
    if not (isinstance(left, ScanColumn) and isinstance(right, Constant)):
        return None
    limit, compare = right.value, _COMPARISONS[term.name]
    if not isinstance(limit, str):
        return None
    return lambda text: compare(text, limit)


def _rows(partitions: PartitionSet, allowed: list[set[str] | None]) -> range | list[int]:
    rows: set[int] | None = None
    order = sorted(
        (len(kept), key)
        for key, kept in enumerate(allowed)
        if kept is not None and len(kept) < len(partitions.distinct(key))
    )
    for _, key in order:
        found: set[int] = set()
        for text in allowed[key] or ():
            found.update(partitions.rows_with(key, text))
        rows = found if rows is None else rows & found
    return range(len(partitions)) if rows is None else sorted(rows)


# Up to so many partitions are tried one by one; of more, a disjunction is taken apart.
_FEW = 1_000


def _filtered(
    partitions: PartitionSet, rows: range | list[int], term: Term, day: date | None, work: Work
) -> range | list[int]:
    """The rows that may satisfy a condition on several keys."""
    if len(rows) > _FEW and isinstance(term, Operation) and term.name == "or":
        found: set[int] = set()
        for arm in term.args:
            found.update(Conditions(tuple(conjuncts(arm))).rows(partitions, day, work))
            if len(found) == len(partitions):
                return rows
        return [row for row in rows if row in found]
    if not work.allows(term, len(rows), each=_A_ROW):
        return rows
    return [row for row in rows if _row_passes(partitions, row, [term], day)]


def _row_passes(
    partitions: PartitionSet, row: int, terms: Iterable[Term], day: date | None
) -> bool:
    names = [key.name.lower() for key in partitions.keys]
    meanings = [
        _meanings(text, key.type)
        for key, text in zip(partitions.keys, partitions.row(row), strict=True)
    ]
    for choice in product(*meanings):
        bind = _bound(dict(zip(names, choice, strict=True)), day)
        if all(truth(term, bind) & T for term in terms):
            return True
    return False


def _meanings(text: str, kind: str) -> tuple[Guess, ...]:
    """What a key's text may mean. Hive matches a string key's default partition by its name."""
    if text == DEFAULT_PARTITION and family(kind) == "text":
        return (None, text)
    return (stored(text, kind),)


def _required(term: Term, key: str) -> frozenset[str] | None:
    """The texts that a text key must be among; None when that is not known."""
    if not isinstance(term, Operation):
        return None
    if term.name == "or":
        choices = [_required(arg, key) for arg in term.args]
        if any(choice is None for choice in choices):
            return None
        return frozenset().union(*(choice for choice in choices if choice is not None))
    if term.name == "and":
        found = [own for arg in term.args if (own := _required(arg, key)) is not None]
        return frozenset.intersection(*found) if found else None
    if term.name == "=" and len(term.args) == 2:
        left, right = term.args
        if isinstance(left, Constant):
            left, right = right, left
        return _texts(left, [right], key)
    if term.name == "in":
        return _texts(term.args[0], term.args[1:], key)
    return None


def _texts(column: Term, members: Sequence[Term], key: str) -> frozenset[str] | None:
    if not isinstance(column, ScanColumn) or column.name != key or family(column.type) != "text":
        return None
    texts: list[str] = []
    for each in members:
        values = each.values if isinstance(each, Members) else [getattr(each, "value", 0)]
        for value in values:
            if not isinstance(value, str):
                return None
            texts.append(value)
    return frozenset(texts)


@dataclass(frozen=True, slots=True)
class Matching:
    """The partitions that a static specification names, `(ds = 'a', hr = 1)`."""

    spec: tuple[tuple[str, str], ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        rows: set[int] | None = None
        names = [key.name.lower() for key in partitions.keys]
        for name, value in self.spec:
            if name not in names:
                return range(len(partitions))
            at = names.index(name)
            found: set[int] = set()
            for text in partitions.distinct(at):
                if same_value(partitions.keys[at], text, value):
                    found.update(partitions.rows_with(at, text))
            rows = found if rows is None else rows & found
        return range(len(partitions)) if rows is None else sorted(rows)

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        written = dict(self.spec)
        if not written.keys() <= {key.name.lower() for key in keys}:
            return (None,) * len(keys)  # as `select` sees it: the statement will fail
        names = (key.name.lower() if key.type == "string" else "" for key in keys)
        return tuple(frozenset({written[name]}) if name in written else None for name in names)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The partitions that any of several scans of a table needs."""

    choices: tuple[PartitionPredicate, ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        days = tuple(_days(term) for term in _terms(self.choices))
        return remembered(self, partitions, days, lambda: self._select(partitions))

    def _select(self, partitions: PartitionSet) -> range | list[int]:
        rows: set[int] = set()
        for choice in self.choices:
            rows.update(choice.select(partitions))
            if len(rows) == len(partitions):
                return range(len(partitions))
        return sorted(rows)

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        each = [choice.required(keys) for choice in self.choices]
        return tuple(_union(texts) for texts in zip(*each, strict=True))


def _union(choices: Sequence[frozenset[str] | None]) -> frozenset[str] | None:
    known = [texts for texts in choices if texts is not None]
    return frozenset().union(*known) if len(known) == len(choices) else None


def _terms(choices: Iterable[PartitionPredicate]) -> Iterable[tuple[Term, ...]]:
    return (choice.terms for choice in choices if isinstance(choice, Conditions))


def any_of(predicates: Sequence[PartitionPredicate]) -> PartitionPredicate:
    """One predicate for all scans of a table."""
    choices = tuple(dict.fromkeys(predicates))
    if not choices or ALL in choices:
        return ALL
    return choices[0] if len(choices) == 1 else AnyOf(choices)


def same_value(key: PartitionKey, text: str, written: str) -> bool:
    """Whether a written partition value means a stored one; numbers may be spelt differently."""
    if text == written:
        return True
    kind = key.type.partition("(")[0]
    if kind in INTEGERS or kind in ("decimal", "float", "double"):
        try:
            return float(text) == float(written)
        except ValueError:
            return False
    if kind in ("date", "timestamp"):
        return text.startswith(written) or written.startswith(text)
    return False
