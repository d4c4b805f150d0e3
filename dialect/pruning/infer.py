"""Inference over equal columns: a condition on one column holds for the other."""

from collections.abc import Iterable, Mapping, Sequence

from dialect.pruning.terms import (
    Constant,
    Members,
    Operation,
    ScanColumn,
    Term,
    columns_of,
    operation,
    replace_columns,
)
from dialect.pruning.values import family, is_number_like
from dialect.work import spend

_INFERRED = "inferred"
_MOST = 8  # columns of one side that equal another one


def inferred(terms: Sequence[Term], rids: frozenset[int]) -> list[Term]:
    """Conditions on columns of `rids` alone, inferred from conditions on columns that equal them.

    As in Spark, a condition is used as a whole, and inferred conditions are not inferred from
    again: they are marked, and `as_written` removes the mark.
    """
    equals = _equals_within(rids, _equal_columns(terms))
    if not equals:
        return []
    result: dict[Term, None] = {}
    for term in terms:
        if _is_equality(term) or is_inferred(term):
            continue
        most = max((len(equals.get(each, ())) for each in columns_of(term)), default=0)
        for at in range(min(most, _MOST)):
            new = _carried(term, rids, equals, at)
            if new is None or new in result:
                break
            result[new] = None
    return [operation(_INFERRED, new) for new in result]


def is_inferred(term: Term) -> bool:
    return isinstance(term, Operation) and term.name == _INFERRED


def as_written(term: Term) -> Term:
    """The condition without the mark of an inferred one."""
    return term.args[0] if isinstance(term, Operation) and term.name == _INFERRED else term


def _equals_within(
    rids: frozenset[int], equals: Mapping[ScanColumn, set[ScanColumn]]
) -> dict[ScanColumn, list[ScanColumn]]:
    """For each column of other relations, the columns of `rids` that equal it, in a fixed order."""
    result = {
        column: sorted(
            (each for each in group if each.rid in rids), key=lambda each: (each.rid, each.name)
        )
        for column, group in equals.items()
        if column.rid not in rids
    }
    return {column: own for column, own in result.items() if own}


def _carried(
    term: Term, rids: frozenset[int], equals: Mapping[ScanColumn, Sequence[ScanColumn]], at: int
) -> Term | None:
    """The condition written in columns of `rids`: each other column is replaced by the one at index
    `at` of its equals. None if a column has no equal, or one with another meaning."""
    changed = False
    allowed = True

    def to_this_side(column: ScanColumn) -> Term:
        nonlocal changed, allowed
        spend()
        if column.rid in rids:
            return column
        others = equals.get(column)
        if others is None:
            allowed = False
            return column
        other = others[min(at, len(others) - 1)]
        if not _same_meaning(column, other, term):
            allowed = False
            return column
        changed = True
        return other

    new = replace_columns(term, to_this_side)
    return new if changed and allowed else None


def _same_meaning(column: ScanColumn, other: ScanColumn, term: Term) -> bool:
    """Whether the condition has the same result for equal values of the two columns."""
    padded = column.type.startswith("char") or other.type.startswith("char")
    if padded and column.type != other.type:
        return False
    kinds = {family(column.type), family(other.type)}
    if len(kinds) == 1 and kinds <= {"text", "integer", "date", "boolean", "decimal"}:
        return True
    if not kinds <= {"", "text", "integer"}:
        return False
    # The types differ, or one is not known. A text that is no number equals only itself, and a
    # comparison with integers compares numbers on both sides.
    values = list(_constants(term))
    texts = all(isinstance(each, str) and not is_number_like(each) for each in values)
    if texts and "integer" not in kinds:
        return True
    return all(type(each) is int for each in values) and _is_comparison(term)


def _is_comparison(term: Term) -> bool:
    """A column compared with constants, without functions."""
    if not isinstance(term, Operation) or term.name not in ("=", "<", "<=", ">", ">=", "in"):
        return False
    return all(isinstance(arg, ScanColumn | Constant | Members) for arg in term.args)


def _constants(term: Term) -> Iterable[object]:
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Constant):
            yield each.value
        elif isinstance(each, Members):
            yield from each.values
        elif isinstance(each, Operation):
            waiting.extend(each.args)


def _equal_columns(terms: Iterable[Term]) -> dict[ScanColumn, set[ScanColumn]]:
    """For each column, the columns that equal it by any chain of equalities, and itself."""
    groups: dict[ScanColumn, set[ScanColumn]] = {}
    for term in terms:
        if _is_equality(term) and isinstance(term, Operation):
            left, right = term.args
            if isinstance(left, ScanColumn) and isinstance(right, ScanColumn):
                merged = groups.get(left, {left}) | groups.get(right, {right})
                spend(1 + len(merged) // 32)
                for column in merged:
                    groups[column] = merged
    return groups


def _is_equality(term: Term) -> bool:
    return (
        isinstance(term, Operation)
        and term.name == "="
        and isinstance(term.args[0], ScanColumn)
        and isinstance(term.args[1], ScanColumn)
    )
