"""Translates parsed expressions to terms. An expression not listed in `_HANDLERS` is ANYTHING."""

from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from dialect.lexing.tokens import DOUBLED
from dialect.lineage import calls
from dialect.lineage.clauses import is_leaf
from dialect.pruning.terms import (
    ANYTHING,
    MAX_DEPTH,
    OPAQUE,
    Constant,
    Members,
    Operation,
    ScanColumn,
    Term,
    kind_of,
    operation,
)
from dialect.work import spend

ResolveColumn = Callable[[exp.Column], Term]

_SMALL_TYPES = frozenset({"tinyint", "smallint"})
_LONG_LIST = 16


class Translator:
    """Translates one SELECT's expressions; `resolve` turns a column into the term that it stands
    for."""

    __slots__ = ("_depth", "_resolve")

    def __init__(self, resolve: ResolveColumn) -> None:
        self._resolve = resolve
        self._depth = 0

    def term(self, tree: exp.Expr | None) -> Term:
        """The term of an expression."""
        handler = None if tree is None else _HANDLERS.get(type(tree))
        if handler is None or tree is None or not _all_parts_read(tree):
            return _unknown(tree)
        spend()
        self._depth += 1
        try:
            term = ANYTHING if self._depth > MAX_DEPTH else handler(self, tree)
        finally:
            self._depth -= 1
        return _unknown(tree) if term == ANYTHING else term

    def column(self, tree: exp.Expr) -> Term:
        if isinstance(tree, exp.Column) and is_leaf(tree):
            return self._resolve(tree)
        return ANYTHING

    def connected(self, tree: exp.Expr, kind: type[exp.Expr], name: str) -> Term:
        """The term of a chain of AND or OR. Chains may be long, so there is no recursion."""
        parts: list[Term] = []
        waiting: list[exp.Expr] = [tree]
        while waiting:
            each = waiting.pop()
            if isinstance(each, exp.Paren):
                waiting.append(each.this)
            elif type(each) is kind:
                waiting.append(each.args["expression"])
                waiting.append(each.this)
            else:
                parts.append(self.term(each))
        return operation(name, *parts)


def _unknown(tree: exp.Expr | None) -> Term:
    """OPAQUE for an expression with a sub-query or a random value, else ANYTHING."""
    if tree is None or is_leaf(tree):
        return ANYTHING
    for each in tree.walk():
        spend()
        if isinstance(each, _OPAQUE):
            return OPAQUE
    return ANYTHING


_OPAQUE = (exp.Query, exp.Rand, exp.Randn, exp.Uuid)


def _literal(_translator: Translator, tree: exp.Expr) -> Term:
    text = str(tree.this)
    if tree.args.get("is_string"):
        return ANYTHING if DOUBLED in text else Constant(text)
    try:
        if "e" in text.lower():
            return Constant(float(text))
        return Constant(Decimal(text) if "." in text else int(text))
    except (ValueError, ArithmeticError):
        return ANYTHING


def _without_padding(left: Term, right: Term) -> Term:
    """`right`; a literal compared with a CHAR loses its trailing spaces, which do not count."""
    if isinstance(right, Constant) and _is_char(left):
        return Constant(right.value.rstrip(" ")) if isinstance(right.value, str) else right
    return right


def _is_char(term: Term) -> bool:
    if isinstance(term, Operation) and term.name == "cast":
        kind = term.args[1]
        return isinstance(kind, Constant) and str(kind.value).startswith("char")
    return isinstance(term, ScanColumn) and term.type.startswith("char")


def _comparison(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(translator: Translator, tree: exp.Expr) -> Term:
        if _binds_otherwise(tree, _CONDITIONS):
            return ANYTHING
        left, right = translator.term(tree.this), translator.term(tree.args.get("expression"))
        return operation(name, _without_padding(right, left), _without_padding(left, right))

    return build


def _equality(translator: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, _CONDITIONS):
        return ANYTHING
    left, right = translator.term(tree.this), translator.term(tree.args.get("expression"))
    if isinstance(left, Operation) and left.name == "tuple":
        return operation("tuple_in", left, right)
    return operation("=", _without_padding(right, left), _without_padding(left, right))


def _arithmetic(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(translator: Translator, tree: exp.Expr) -> Term:
        if _binds_otherwise(tree, exp.DPipe):
            return ANYTHING
        left, right = translator.term(tree.this), translator.term(tree.args.get("expression"))
        if name in "+-" and isinstance(tree.args.get("expression"), exp.Interval):
            return _add_days(left, tree.args["expression"], name)
        # Two small integers may overflow. With an INT the engines compute in INT.
        for one, other in ((left, right), (right, left)):
            if _is_small(one) and not (
                isinstance(other, Constant)
                or (isinstance(other, ScanColumn) and not _is_small(other))
            ):
                return ANYTHING
        return operation(name, left, right)

    return build


def _add_days(left: Term, interval: exp.Expr, sign: str) -> Term:
    """The term of a date plus or minus INTERVAL n DAY; other intervals give timestamps:
    ANYTHING."""
    count, unit = interval.this, interval.args.get("unit")
    whole = isinstance(count, exp.Literal) and count.name.isdigit() and len(count.name) < 6
    if kind_of(left) != "date" or not whole or unit is None or unit.name.upper() != "DAY":
        return ANYTHING
    return operation("date_add", left, Constant(int(f"{sign}{count.name}")))


# The engines read `a = b < c` as `(a = b) < c` and `a = b IS NULL` as `(a = b) IS NULL`, and ||
# binds as + does. sqlglot's parser differs, so such an operand without brackets makes the term
# ANYTHING.
_CONDITIONS = (exp.Predicate, exp.Not, exp.Escape)


def _binds_otherwise(tree: exp.Expr, kinds: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> bool:
    return isinstance(tree.this, kinds) or isinstance(tree.args.get("expression"), kinds)


def _concatenation(translator: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, (exp.Add, exp.Sub)):
        return ANYTHING
    return operation(
        "concat", translator.term(tree.this), translator.term(tree.args.get("expression"))
    )


def _is_small(term: Term) -> bool:
    if isinstance(term, ScanColumn):
        return term.type in _SMALL_TYPES
    if not isinstance(term, Operation) or term.name != "cast":
        return False
    kind = term.args[1]
    return isinstance(kind, Constant) and kind.value in _SMALL_TYPES


def _unary(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(translator: Translator, tree: exp.Expr) -> Term:
        return operation(name, translator.term(tree.this))

    return build


def _inner(translator: Translator, tree: exp.Expr) -> Term:
    return translator.term(tree.this)


def _between(translator: Translator, tree: exp.Expr) -> Term:
    if tree.args.get("symmetric"):
        return ANYTHING
    this = translator.term(tree.this)
    low, high = translator.term(tree.args.get("low")), translator.term(tree.args.get("high"))
    low, high = _without_padding(this, low), _without_padding(this, high)
    return operation("and", operation(">=", this, low), operation("<=", this, high))


def _in(translator: Translator, tree: exp.Expr) -> Term:
    if tree.args.get("query") or tree.args.get("unnest") or tree.args.get("field"):
        return ANYTHING
    this = translator.term(tree.this)
    members = [_without_padding(this, translator.term(each)) for each in tree.expressions]
    if isinstance(this, Operation) and this.name == "tuple":
        return operation("tuple_in", this, *members)
    if not members:
        return ANYTHING
    constants = [each.value for each in members if isinstance(each, Constant)]
    if len(members) > _LONG_LIST and len(constants) == len(members):
        kinds = {type(each) for each in constants}
        if len(kinds) == 1 and kinds <= {str, int}:
            return operation("in", this, Members(frozenset(constants)))
    return operation("in", this, *members)


def _is(translator: Translator, tree: exp.Expr) -> Term:
    this, other = translator.term(tree.this), tree.args.get("expression")
    if isinstance(other, exp.Null):
        return operation("is_null", this)
    if isinstance(other, exp.Boolean):
        return operation("is_true" if other.this else "is_false", this)
    return ANYTHING


def _null_safe_not(translator: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, _CONDITIONS):
        return ANYTHING
    return operation(
        "not",
        operation("<=>", translator.term(tree.this), translator.term(tree.args.get("expression"))),
    )


def _like(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(translator: Translator, tree: exp.Expr) -> Term:
        text, pattern = translator.term(tree.this), tree.args.get("expression")
        if isinstance(pattern, exp.Any | exp.All):
            # Hive and Spark differ in what `NOT LIKE ANY` negates.
            listed = pattern.this
            each = listed.expressions if isinstance(listed, exp.Tuple) else [listed]
            terms = [operation(name, text, translator.term(one)) for one in each]
            term = operation("or" if isinstance(pattern, exp.Any) else "and", *terms)
            return ANYTHING if tree.args.get("negate") else term
        term = operation(name, text, translator.term(pattern))
        return operation("not", term) if tree.args.get("negate") else term

    return build


def _null(_translator: Translator, _tree: exp.Expr) -> Term:
    return Constant(None)


def _boolean(_translator: Translator, tree: exp.Expr) -> Term:
    return Constant(bool(tree.this))


def _and(translator: Translator, tree: exp.Expr) -> Term:
    return translator.connected(tree, exp.And, "and")


def _or(translator: Translator, tree: exp.Expr) -> Term:
    return translator.connected(tree, exp.Or, "or")


_HANDLERS: dict[type[exp.Expr], Callable[[Translator, exp.Expr], Term]] = {
    exp.Column: Translator.column,
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Paren: _inner,
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _unary("not"),
    exp.Neg: _unary("negate"),
    exp.EQ: _equality,
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("<=>"),
    exp.NullSafeNEQ: _null_safe_not,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like("like"),
    exp.RegexpLike: _like("rlike"),
    exp.Case: calls.case,
    exp.If: calls.if_else,
    exp.Coalesce: calls.coalesce,
    exp.Nullif: calls.nullif,
    exp.Cast: calls.cast,
    exp.TryCast: calls.cast,
    exp.Concat: calls.concat,
    exp.DPipe: _concatenation,
    exp.ConcatWs: calls.concat_ws,
    exp.Substring: calls.substring,
    exp.Upper: _unary("upper"),
    exp.Lower: _unary("lower"),
    exp.Length: _unary("length"),
    exp.Trim: calls.trim,
    exp.Pad: calls.pad,
    exp.Abs: _unary("abs"),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.Div: _arithmetic("/"),
    exp.Mod: _arithmetic("%"),
    exp.Year: _unary("year"),
    exp.Month: _unary("month"),
    exp.Day: _unary("day"),
    exp.DayOfMonth: _unary("day"),
    exp.TsOrDsToDate: _unary("to_date"),
    exp.TsOrDsAdd: calls.date_add,
    exp.Nvl2: calls.nvl2,
    exp.Replace: calls.replace,
    exp.RegexpReplace: calls.plain("regexp_replace", "this", "expression", "replacement"),
    exp.Left: calls.plain("left", "this", "expression"),
    exp.Right: calls.plain("right", "this", "expression"),
    exp.Reverse: calls.plain("reverse", "this"),
    exp.StrPosition: calls.plain("instr", "this", "substr"),
    exp.StartsWith: calls.plain("startswith", "this", "expression"),
    exp.EndsWith: calls.plain("endswith", "this", "expression"),
    exp.Contains: calls.plain("contains", "this", "expression"),
    exp.IntDiv: calls.plain("div", "this", "expression"),
    exp.Extract: calls.extract,
    exp.Quarter: calls.plain("quarter", "this"),
    exp.DayOfWeek: calls.plain("dayofweek", "this"),
    exp.WeekOfYear: calls.plain("weekofyear", "this"),
    exp.Bracket: calls.element,
    exp.DateDiff: calls.date_diff,
    exp.CurrentDate: calls.current_date,
    exp.Anonymous: calls.named,
    exp.Tuple: calls.tuple_of,
    exp.Struct: calls.tuple_of,
}

# The parts of each expression that its handler reads or may ignore. An expression with any other
# part is ANYTHING: a later version of the parser may add parts that change the meaning.
_READ_PARTS: dict[type[exp.Expr], str] = {
    exp.Column: "table db",
    exp.Literal: "is_string",
    exp.Between: "low high symmetric",
    exp.In: "query unnest field",
    exp.Like: "negate",
    exp.Case: "ifs default",
    exp.If: "true false",
    exp.Coalesce: "is_nvl is_null",
    exp.Cast: "to safe",
    exp.TryCast: "to safe",
    exp.Concat: "safe",
    exp.DPipe: "safe",
    exp.ConcatWs: "safe coalesce flatten",
    exp.Substring: "start length",
    exp.Trim: "position",
    exp.Pad: "fill_pattern is_left",
    exp.Div: "typed safe",
    exp.TsOrDsToDate: "safe",
    exp.TsOrDsAdd: "unit",
    exp.Nvl2: "true false",
    exp.Replace: "replacement",
    exp.RegexpReplace: "replacement",
    exp.StrPosition: "substr",
    exp.IntDiv: "typed safe",
    exp.DateDiff: "unit",
}
_UNREAD_PARTS = {
    kind: tuple(
        kind.arg_types.keys()
        - {"this", "expression", "expressions"}
        - set(_READ_PARTS.get(kind, "").split())
    )
    for kind in _HANDLERS
}


def _all_parts_read(tree: exp.Expr) -> bool:
    unread = _UNREAD_PARTS[type(tree)]
    return not unread or not any(tree.args.get(name) for name in unread)
