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

    Spark takes nothing from a part of a condition here, and infers once: what is inferred is not
    inferred from again, and is marked (`as_written`).
    """
    equals = _equals_within(rids, _equal_columns(terms))
    if not equals:
        return []
    found: dict[Term, None] = {}
    for term in terms:
        if _is_equality(term) or is_inferred(term):
            continue
        most = max((len(equals.get(each, ())) for each in columns_of(term)), default=0)
        for at in range(min(most, _MOST)):
            new = _carried(term, rids, equals, at)
            if new is None or new in found:
                break
            found[new] = None
    return [operation(_INFERRED, new) for new in found]


def is_inferred(term: Term) -> bool:
    return isinstance(term, Operation) and term.name == _INFERRED


def as_written(term: Term) -> Term:
    """The condition without the mark that it is inferred."""
    return term.args[0] if isinstance(term, Operation) and term.name == _INFERRED else term


def _equals_within(
    rids: frozenset[int], equals: Mapping[ScanColumn, set[ScanColumn]]
) -> dict[ScanColumn, list[ScanColumn]]:
    """The columns of `rids`, in their order, that equal each other column."""
    found = {
        column: sorted(
            (each for each in group if each.rid in rids), key=lambda each: (each.rid, each.name)
        )
        for column, group in equals.items()
        if column.rid not in rids
    }
    return {column: own for column, own in found.items() if own}


def _carried(
    term: Term, rids: frozenset[int], equals: Mapping[ScanColumn, Sequence[ScanColumn]], at: int
) -> Term | None:
    """The condition in columns of `rids`: the one at this place of those that equal a column."""
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
    """Whether equal values of the two columns satisfy the condition alike."""
    padded = column.type.startswith("char") or other.type.startswith("char")
    if padded and column.type != other.type:
        return False
    kinds = {family(column.type), family(other.type)}
    if len(kinds) == 1 and kinds <= {"text", "integer", "date", "boolean", "decimal"}:
        return True
    if not kinds <= {"", "text", "integer"}:
        return False
    # Types differ, or one is not known. Text that is no number is equal only to itself; a
    # comparison with whole numbers is one of numbers on both sides.
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
    """By column, all that equal it, by any chain of equalities, and itself."""
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
