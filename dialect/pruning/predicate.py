"""Selects the partitions that may satisfy conditions on partition keys.

A condition on one key is evaluated once for each distinct value, so that a million partitions take
milliseconds. A condition on several keys is first evaluated for the values of one key at a time,
with MAYBE for the others, and then for each partition that remains.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import product

from conf.partitions import PartitionKey, PartitionSet
from dialect.pruning.evaluate import TODAY, Bind, T, truth
from dialect.pruning.selections import cached_rows
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
    """The partitions for which all conditions may be true. A key is a ScanColumn with its name in
    lower case."""

    terms: tuple[Term, ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        days = _days(self.terms)
        return cached_rows(self, partitions, days, lambda: self._select(partitions, days))

    def _select(self, partitions: PartitionSet, days: Sequence[date | None]) -> range | list[int]:
        rows: set[int] | None = None
        for day in days:
            found = self.rows(partitions, day, WorkBudget())
            if len(found) == len(partitions):
                return range(len(partitions))
            rows = set(found) if rows is None else rows | set(found)
        return sorted(rows or ())

    def rows(
        self, partitions: PartitionSet, day: date | None, budget: "WorkBudget"
    ) -> range | list[int]:
        """The rows that may satisfy the conditions if today is `day`. Rows for which the budget
        does not suffice are among them."""
        allowed: list[set[str] | None] = [None] * len(partitions.keys)
        several: list[Term] = []
        for term in self.terms:
            keys = _key_positions(term, partitions.keys)
            if not keys and not truth(term, _binding({}, day)) & T:
                return []
            for key in keys:
                _narrow_key(partitions, key, term, day, allowed, budget)
            if len(keys) > 1:
                several.append(term)
        rows = _rows(partitions, allowed)
        for term in several:
            rows = _filtered(partitions, rows, term, day, budget)
        return rows

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return tuple(
            self._required_of(key.name.lower()) if key.type == "string" else None for key in keys
        )

    def _required_of(self, key: str) -> frozenset[str] | None:
        found: frozenset[str] | None = None
        for term in self.terms:
            own = _required_texts(term, key)
            if own is not None:
                found = own if found is None else found & own
        return found


# Parts of conditions that one selection evaluates: some seconds. A condition for which the budget
# does not suffice leaves nothing out.
MAX_WORK = 1_500_000
_COST_OF_ROW = 10  # parts of conditions that take as long as reading a row


@dataclass(slots=True)
class WorkBudget:
    left: int = MAX_WORK

    def allows(self, term: Term, count: int, extra: int = 0) -> bool:
        """Spends the cost of `count` evaluations, each with `extra` parts more; False if too much
        would be spent."""
        cost = count * ((term.size if isinstance(term, Operation) else 1) + extra)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def _days(terms: Iterable[Term]) -> Sequence[date | None]:
    """The dates that `current_date` may be in any time zone; (None,) if no condition uses it."""
    if not any(_uses_current_date(term) for term in terms):
        return (None,)
    today = datetime.now(UTC).date()
    return tuple(today + timedelta(days=shift) for shift in (-1, 0, 1))


def _uses_current_date(term: Term) -> bool:
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Operation):
            if each.name == "current_date":
                return True
            waiting.extend(each.args)
    return False


def _key_positions(term: Term, keys: Sequence[PartitionKey]) -> list[int]:
    names = {column.name for column in columns_of(term)}
    return [at for at, key in enumerate(keys) if key.name.lower() in names]


def _binding(values: dict[str, Guess], day: date | None) -> Bind:
    def bind(column: ScanColumn) -> Guess:
        if column is TODAY:
            return MAYBE if day is None else day
        return values.get(column.name, MAYBE)

    return bind


def _narrow_key(
    partitions: PartitionSet,
    key: int,
    term: Term,
    day: date | None,
    allowed: list[set[str] | None],
    budget: WorkBudget,
) -> None:
    """Removes from `allowed` the values of one key for which the condition cannot be true."""
    name, kind = partitions.keys[key].name.lower(), partitions.keys[key].type
    before = allowed[key]
    candidates: Collection[str] = partitions.distinct(key) if before is None else before
    texts = _required_texts(term, name) if family(kind) == "text" else None
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
    if not budget.allows(term, len(candidates)):
        if texts is not None:
            allowed[key] = set(candidates)
        return
    values: dict[str, Guess] = {}
    bind = _binding(values, day)
    kept = set()
    for text in candidates:
        for guess in _possible_values(text, kind):
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
    """A quick test for a comparison of a STRING key with a literal: such keys have many values."""
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


# Of more partitions than this, each operand of an OR selects its own.
_MOST_TRIED_SINGLY = 1_000


def _filtered(
    partitions: PartitionSet,
    rows: range | list[int],
    term: Term,
    day: date | None,
    budget: WorkBudget,
) -> range | list[int]:
    """The rows that may satisfy a condition on several keys."""
    if len(rows) > _MOST_TRIED_SINGLY and isinstance(term, Operation) and term.name == "or":
        found: set[int] = set()
        for arm in term.args:
            found.update(Conditions(tuple(conjuncts(arm))).rows(partitions, day, budget))
            if len(found) == len(partitions):
                return rows
        return [row for row in rows if row in found]
    if not budget.allows(term, len(rows), extra=_COST_OF_ROW):
        return rows
    return [row for row in rows if _row_passes(partitions, row, [term], day)]


def _row_passes(
    partitions: PartitionSet, row: int, terms: Iterable[Term], day: date | None
) -> bool:
    names = [key.name.lower() for key in partitions.keys]
    meanings = [
        _possible_values(text, key.type)
        for key, text in zip(partitions.keys, partitions.row(row), strict=True)
    ]
    for choice in product(*meanings):
        bind = _binding(dict(zip(names, choice, strict=True)), day)
        if all(truth(term, bind) & T for term in terms):
            return True
    return False


def _possible_values(text: str, kind: str) -> tuple[Guess, ...]:
    """The values that a key's text may have: to Hive, the default partition of a string key is
    also its own name."""
    if text == DEFAULT_PARTITION and family(kind) == "text":
        return (None, text)
    return (stored(text, kind),)


def _required_texts(term: Term, key: str) -> frozenset[str] | None:
    """The texts among which the term requires a text key to be; None if they are not known."""
    if not isinstance(term, Operation):
        return None
    if term.name == "or":
        choices = [_required_texts(arg, key) for arg in term.args]
        if any(choice is None for choice in choices):
            return None
        return frozenset().union(*(choice for choice in choices if choice is not None))
    if term.name == "and":
        found = [own for arg in term.args if (own := _required_texts(arg, key)) is not None]
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
            return (None,) * len(keys)  # as in `select`: a name is no key, and the statement fails
        names = (key.name.lower() if key.type == "string" else "" for key in keys)
        return tuple(frozenset({written[name]}) if name in written else None for name in names)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The partitions that any of several predicates selects."""

    choices: tuple[PartitionPredicate, ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        days = tuple(_days(term) for term in _terms_of_choices(self.choices))
        return cached_rows(self, partitions, days, lambda: self._select(partitions))

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


def _terms_of_choices(choices: Iterable[PartitionPredicate]) -> Iterable[tuple[Term, ...]]:
    return (choice.terms for choice in choices if isinstance(choice, Conditions))


def any_of(predicates: Sequence[PartitionPredicate]) -> PartitionPredicate:
    """The predicate for a table that is scanned with each of these predicates."""
    choices = tuple(dict.fromkeys(predicates))
    if not choices or ALL in choices:
        return ALL
    return choices[0] if len(choices) == 1 else AnyOf(choices)


def same_value(key: PartitionKey, text: str, written: str) -> bool:
    """Whether a value written in a statement means the stored `text` of a key. Numbers, dates and
    timestamps may be written in several ways."""
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
