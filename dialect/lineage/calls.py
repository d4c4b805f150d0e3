"""Translates calls of functions and CASE to terms. What is not certain is ANYTHING."""

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from dialect.pruning.terms import ANYTHING, Constant, Term, kind_of, operation


class ArgumentTranslator(Protocol):
    """Translates an argument to a term."""

    def term(self, tree: exp.Expr | None) -> Term: ...


def case(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    subject = None if tree.this is None else translator.term(tree.this)
    parts: list[Term] = []
    for each in tree.args.get("ifs") or ():
        when = translator.term(each.this)
        parts.append(when if subject is None else operation("=", subject, when))
        parts.append(translator.term(each.args.get("true")))
    default = tree.args.get("default")
    return _choice(*parts, Constant(None) if default is None else translator.term(default))


def if_else(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    default = tree.args.get("false")
    otherwise = Constant(None) if default is None else translator.term(default)
    return _choice(translator.term(tree.this), translator.term(tree.args.get("true")), otherwise)


def coalesce(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    terms = [translator.term(tree.this), *map(translator.term, tree.expressions)]
    return operation("coalesce", *terms) if _are_alike(terms) else ANYTHING


def _choice(*parts: Term) -> Term:
    """The term of CASE. `parts` are conditions and values in turn, and the value of ELSE."""
    return operation("case", *parts) if _are_alike([*parts[1:-1:2], parts[-1]]) else ANYTHING


def _are_alike(terms: Sequence[Term]) -> bool:
    """Whether the values need no conversion to a common type."""
    return len({kind_of(term) for term in terms} - {"null"}) <= 1


def nullif(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    this, other = translator.term(tree.this), translator.term(tree.args.get("expression"))
    return operation("case", operation("=", this, other), Constant(None), this)


def cast(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    kind = tree.args.get("to")
    if not isinstance(kind, exp.DataType):
        return ANYTHING
    name = _TYPES.get(kind.this.value, "")
    if not name:
        return ANYTHING
    sizes = ",".join(str(each.name) for each in kind.expressions)
    return operation(
        "cast", translator.term(tree.this), Constant(f"{name}({sizes})" if sizes else name)
    )


def concat(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    return operation("concat", *map(translator.term, tree.expressions))


def concat_ws(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    return operation("concat_ws", *map(translator.term, tree.expressions))


def substring(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    parts = [tree.this, tree.args.get("start"), tree.args.get("length")]
    return operation("substring", *(translator.term(part) for part in parts if part is not None))


def trim(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    if tree.args.get("expression") is not None:
        return ANYTHING
    name = {"": "trim", "LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim"}.get(
        str(tree.args.get("position") or "").upper(), ""
    )
    return operation(name, translator.term(tree.this)) if name else ANYTHING


def pad(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    fill = tree.args.get("fill_pattern")
    if fill is None:
        return ANYTHING
    name = "lpad" if tree.args.get("is_left") else "rpad"
    return operation(
        name,
        translator.term(tree.this),
        translator.term(tree.args.get("expression")),
        translator.term(fill),
    )


def date_add(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    unit = tree.args.get("unit")
    if unit is not None and unit.name.upper() != "DAY":
        return ANYTHING
    return operation(
        "date_add", translator.term(tree.this), translator.term(tree.args.get("expression"))
    )


def date_diff(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    if tree.args.get("unit") is not None:
        return ANYTHING
    return operation(
        "datediff", translator.term(tree.this), translator.term(tree.args.get("expression"))
    )


def tuple_of(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    members = [
        each.args["expression"] if isinstance(each, exp.PropertyEQ) else each
        for each in tree.expressions
    ]
    terms = tuple(map(translator.term, members))
    return operation("tuple", *terms)


def plain(name: str, *parts: str) -> Callable[[ArgumentTranslator, exp.Expr], Term]:
    """A translator of the function `name` of these parts of its tree, in this order."""

    def build(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
        return operation(name, *(translator.term(tree.args.get(part)) for part in parts))

    return build


def nvl2(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    present = operation("not", operation("is_null", translator.term(tree.this)))
    return _choice(
        present, translator.term(tree.args.get("true")), translator.term(tree.args.get("false"))
    )


def replace(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    new = tree.args.get("replacement")
    put = Constant("") if new is None else translator.term(new)
    return operation(
        "replace", translator.term(tree.this), translator.term(tree.args.get("expression")), put
    )


def extract(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    name = tree.this.name.lower()
    if name not in ("year", "month", "day"):
        return ANYTHING
    return operation(name, translator.term(tree.args.get("expression")))


def element(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    """The term of `split(x, '-')[1]`; ANYTHING for an element of another array."""
    at = tree.expressions[0] if len(tree.expressions) == 1 else None
    source = tree.this
    if not isinstance(source, exp.RegexpSplit) or source.args.get("limit") is not None:
        return ANYTHING
    parts = (source.this, source.args.get("expression"), at)
    return operation("split_part", *map(translator.term, parts))


def current_date(_to: ArgumentTranslator, tree: exp.Expr) -> Term:
    return operation("current_date") if tree.this is None else ANYTHING  # an argument is a zone


def named(translator: ArgumentTranslator, tree: exp.Expr) -> Term:
    """The term of a function for which sqlglot has no class."""
    name = str(tree.this).lower()
    arguments = [translator.term(each) for each in tree.expressions]
    if len(arguments) != NAMED.get(name):
        return ANYTHING
    if name in ("isnull", "isnotnull"):
        found = operation("is_null", *arguments)
        return found if name == "isnull" else operation("not", found)
    return operation({"btrim": "trim"}.get(name, name.rstrip("_")), *arguments)


# Functions for which sqlglot has no class, with the number of their arguments. The analysis renames
# date_format to date_format_ before the text is parsed.
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
