"""Terms: expressions over columns of scans, for pruning. Independent of sqlglot.

In a term, columns of sub-queries and views are replaced by the terms that they stand for. A part
that is not understood is ANYTHING: it may have any value, and may be NULL.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

# Bigger terms become ANYTHING: they cost time and prune little. So do deeper ones, because some
# functions walk over terms by recursion.
MAX_SIZE = 25_000
MAX_DEPTH = 200

Value = None | bool | int | float | Decimal | str | date | datetime | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class ScanColumn:
    """A column of a scan, or, by its position, of a set operation. `type` is empty if unknown."""

    rid: int
    name: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Value


@dataclass(frozen=True, slots=True)
class Anything:
    """An unknown value. It is `opaque` if it is a sub-query's or random: Spark selects no
    partitions by a condition that has such a part."""

    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or function by its name in lower case. `rids` are the relations of its
    columns."""

    name: str
    args: "tuple[Term, ...]"
    rids: frozenset[int] = field(compare=False, default=frozenset())
    size: int = field(compare=False, default=1)
    depth: int = field(compare=False, default=1)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of a long IN list: constants of one kind, without NULL."""

    values: frozenset[Value]


Term = ScanColumn | Constant | Anything | Operation | Members

ANYTHING = Anything()
OPAQUE = Anything(opaque=True)
TRUE = Constant(True)
_NONE: frozenset[int] = frozenset()


def operation(name: str, *args: Term) -> Term:
    """The operation, or ANYTHING if it would be too big or too deep."""
    size, depth = 1, 0
    rids = _NONE
    for arg in args:
        if isinstance(arg, Operation):
            size += arg.size
            depth = max(depth, arg.depth)
            rids = rids | arg.rids if rids else arg.rids
        else:
            size += 1
            if isinstance(arg, ScanColumn):
                rids = rids | {arg.rid}
    if size > MAX_SIZE or depth >= MAX_DEPTH:
        return ANYTHING
    return Operation(name, args, rids, size, depth + 1)


def kind_of(term: Term) -> str:
    """The kind of a term's value: a type's name without parameters; empty if unknown. All integers
    are `int`, all texts `string`."""
    if isinstance(term, ScanColumn):
        kind = term.type.partition("(")[0]
        return "string" if kind in ("varchar", "char") else _WHOLE.get(kind, kind)
    if isinstance(term, Constant):
        return _KINDS.get(type(term.value), "")
    if isinstance(term, Operation) and term.name == "cast" and isinstance(term.args[1], Constant):
        return kind_of(ScanColumn(0, "", str(term.args[1].value)))
    return _RESULTS.get(term.name, "") if isinstance(term, Operation) else ""


_WHOLE = dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), "int")
_KINDS = {
    str: "string",
    int: "int",
    float: "double",
    bool: "boolean",
    Decimal: "decimal",
    date: "date",
    type(None): "null",
}
_TEXTS = (
    "upper lower trim ltrim rtrim concat concat_ws substring replace regexp_replace left right"
    " reverse split_part lpad rpad date_format"
)
_TRUTHS = (
    "and or not = <> < <= > >= <=> is_null in tuple_in is_true is_false like rlike"
    " startswith endswith contains"
)
_INTEGERS = "year month day quarter dayofweek weekofyear length instr datediff"
_RESULTS = {
    **dict.fromkeys(_TEXTS.split(), "string"),
    **dict.fromkeys(_TRUTHS.split(), "boolean"),
    **dict.fromkeys(_INTEGERS.split(), "int"),
    **dict.fromkeys(("current_date", "to_date", "date_add"), "date"),
}


def rids_of(term: Term) -> frozenset[int]:
    """The relations to which a term's columns belong."""
    if isinstance(term, Operation):
        return term.rids
    return frozenset({term.rid}) if isinstance(term, ScanColumn) else _NONE


def has_unknown(term: Term) -> bool:
    """Whether a part of the term is unknown."""
    return next(_unknown_parts(term), None) is not None


def is_opaque(term: Term) -> bool:
    """Whether a part of the term is a sub-query or random."""
    return any(each.opaque for each in _unknown_parts(term))


def _unknown_parts(term: Term) -> Iterator[Anything]:
    waiting: list[Term] = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Anything):
            yield each
        elif isinstance(each, Operation):
            waiting.extend(each.args)


def columns_of(term: Term) -> Iterator[ScanColumn]:
    """The term's columns, each as often as it occurs."""
    waiting: list[Term] = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ScanColumn):
            yield each
        elif isinstance(each, Operation) and each.rids:
            waiting.extend(each.args)


def replace_columns(term: Term, change: Callable[[ScanColumn], Term]) -> Term:
    """The term with `change` applied to each column; the same object if nothing changes."""
    if isinstance(term, ScanColumn):
        return change(term)
    if not isinstance(term, Operation) or not term.rids:
        return term
    args = tuple(replace_columns(arg, change) for arg in term.args)
    if all(new is old for new, old in zip(args, term.args, strict=True)):
        return term
    return operation(term.name, *args)


def conjuncts(term: Term) -> Iterator[Term]:
    """The operands of a chain of AND; of another term, itself."""
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Operation) and each.name == "and":
            waiting.extend(reversed(each.args))
        else:
            yield each


def relevant_to(terms: Iterable[Term], rids: frozenset[int]) -> list[Term]:
    """The conditions that have a column of these relations, and the constant ones."""
    return [term for term in terms if not (own := rids_of(term)) or own & rids]


def on_columns_of(terms: Iterable[Term], rids: frozenset[int]) -> list[Term]:
    """The conditions that have no column of other relations."""
    return [term for term in terms if rids_of(term) <= rids]
