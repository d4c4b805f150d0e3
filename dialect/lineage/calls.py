"""Functions and choices as terms."""

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from dialect.pruning.terms import ANYTHING, Constant, Term, call, kind_of


class Translates(Protocol):
    """Gives the term of an argument."""

    def term(self, tree: exp.Expr | None) -> Term: ...


def case(to: Translates, tree: exp.Expr) -> Term:
    subject = None if tree.this is None else to.term(tree.this)
    parts: list[Term] = []
    for each in tree.args.get("ifs") or ():
        when = to.term(each.this)
        parts.append(when if subject is None else call("=", subject, when))
        parts.append(to.term(each.args.get("true")))
    default = tree.args.get("default")
    return _choice(*parts, Constant(None) if default is None else to.term(default))


def if_else(to: Translates, tree: exp.Expr) -> Term:
    default = tree.args.get("false")
    otherwise = Constant(None) if default is None else to.term(default)
    return _choice(to.term(tree.this), to.term(tree.args.get("true")), otherwise)


def coalesce(to: Translates, tree: exp.Expr) -> Term:
    terms = [to.term(tree.this), *map(to.term, tree.expressions)]
    return call("coalesce", *terms) if _are_alike(terms) else ANYTHING


def _choice(*parts: Term) -> Term:
    """CASE: conditions and values in turn, and the value where no condition holds."""
    return call("case", *parts) if _are_alike([*parts[1:-1:2], parts[-1]]) else ANYTHING


def _are_alike(terms: Sequence[Term]) -> bool:
    """Whether the values need no conversion to a common type."""
    return len({kind_of(term) for term in terms} - {"null"}) <= 1


def nullif(to: Translates, tree: exp.Expr) -> Term:
    this, other = to.term(tree.this), to.term(tree.args.get("expression"))
    return call("case", call("=", this, other), Constant(None), this)


def cast(to: Translates, tree: exp.Expr) -> Term:
    kind = tree.args.get("to")
    if not isinstance(kind, exp.DataType):
        return ANYTHING
    name = _TYPES.get(kind.this.value, "")
    if not name:
        return ANYTHING
    sizes = ",".join(str(each.name) for each in kind.expressions)
    return call("cast", to.term(tree.this), Constant(f"{name}({sizes})" if sizes else name))


def concat(to: Translates, tree: exp.Expr) -> Term:
    return call("concat", *map(to.term, tree.expressions))


def concat_ws(to: Translates, tree: exp.Expr) -> Term:
    return call("concat_ws", *map(to.term, tree.expressions))


def substring(to: Translates, tree: exp.Expr) -> Term:
    parts = [tree.this, tree.args.get("start"), tree.args.get("length")]
    return call("substring", *(to.term(part) for part in parts if part is not None))


def trim(to: Translates, tree: exp.Expr) -> Term:
    if tree.args.get("expression") is not None:
        return ANYTHING
    name = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}.get(
        str(tree.args.get("position") or "").upper(), ""
    )
    return call(name, to.term(tree.this)) if name else ANYTHING


def pad(to: Translates, tree: exp.Expr) -> Term:
    fill = tree.args.get("fill_pattern")
    if fill is None:
        return ANYTHING
    name = "lpad" if tree.args.get("is_left") else "rpad"
    return call(name, to.term(tree.this), to.term(tree.args.get("expression")), to.term(fill))


def date_add(to: Translates, tree: exp.Expr) -> Term:
    unit = tree.args.get("unit")
    if unit is not None and unit.name.upper() != "DAY":
        return ANYTHING
    return call("date_add", to.term(tree.this), to.term(tree.args.get("expression")))


def date_diff(to: Translates, tree: exp.Expr) -> Term:
    if tree.args.get("unit") is not None:
        return ANYTHING
    return call("datediff", to.term(tree.this), to.term(tree.args.get("expression")))


def tuple_of(to: Translates, tree: exp.Expr) -> Term:
    members = [
        each.args["expression"] if isinstance(each, exp.PropertyEQ) else each
        for each in tree.expressions
    ]
    terms = tuple(map(to.term, members))
    return call("tuple", *terms)


def plain(name: str, *parts: str) -> Callable[[Translates, exp.Expr], Term]:
    """A function of these parts of the tree; ANYTHING where one of them is missing."""

    def build(to: Translates, tree: exp.Expr) -> Term:
        return call(name, *(to.term(tree.args.get(part)) for part in parts))

    return build


def nvl2(to: Translates, tree: exp.Expr) -> Term:
    present = call("not", call("is_null", to.term(tree.this)))
    return _choice(present, to.term(tree.args.get("true")), to.term(tree.args.get("false")))


def replace(to: Translates, tree: exp.Expr) -> Term:
    new = tree.args.get("replacement")
    put = Constant("") if new is None else to.term(new)
    return call("replace", to.term(tree.this), to.term(tree.args.get("expression")), put)


def extract(to: Translates, tree: exp.Expr) -> Term:
    name = tree.this.name.lower()
    if name not in ("year", "month", "day"):
        return ANYTHING
    return call(name, to.term(tree.args.get("expression")))


def element(to: Translates, tree: exp.Expr) -> Term:
    """`split(x, '-')[1]`; other arrays are not known."""
    at = tree.expressions[0] if len(tree.expressions) == 1 else None
    source = tree.this
    if not isinstance(source, exp.RegexpSplit) or source.args.get("limit") is not None:
        return ANYTHING
    parts = (source.this, source.args.get("expression"), at)
    return call("split_part", *map(to.term, parts))


def current_date(_to: Translates, tree: exp.Expr) -> Term:
    return call("current_date") if tree.this is None else ANYTHING  # one of another zone


def named(to: Translates, tree: exp.Expr) -> Term:
    """A function that the parser knows by its name only."""
    name = str(tree.this).lower()
    arguments = [to.term(each) for each in tree.expressions]
    if len(arguments) != NAMED.get(name):
        return ANYTHING
    if name in ("isnull", "isnotnull"):
        found = call("is_null", *arguments)
        return found if name == "isnull" else call("not", found)
    return call({"btrim": "trim"}.get(name, name.rstrip("_")), *arguments)


# Functions known by name, with the number of their arguments.
NAMED = {"date_format_": 2, "isnull": 1, "isnotnull": 1, "pmod": 2, "btrim": 1}


_TYPES = {
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "DECIMAL": "decimal",
    "TEXT": "string",
    "NVARCHAR": "varchar",
    "NCHAR": "char",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMPLTZ": "timestamp",
    "BOOLEAN": "boolean",
}
