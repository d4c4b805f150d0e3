"""Translates parsed expressions to terms. An expression that is not listed is ANYTHING."""

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
    Call,
    Column,
    Constant,
    Members,
    Term,
    call,
    kind_of,
)
from dialect.work import spend

Names = Callable[[exp.Column], Term]

_SMALL_TYPES = frozenset({"tinyint", "smallint"})
_LONG_LIST = 16


class Translator:
    """Translates one SELECT's expressions; `names` resolves a column in its scope."""

    __slots__ = ("_depth", "_names")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._depth = 0

    def term(self, tree: exp.Expr | None) -> Term:
        """The term of an expression."""
        handler = None if tree is None else _HANDLERS.get(type(tree))
        if handler is None or tree is None or not _is_read(tree):
            return _unknown(tree)
        spend()
        self._depth += 1
        try:
            found = ANYTHING if self._depth > MAX_DEPTH else handler(self, tree)
        finally:
            self._depth -= 1
        return _unknown(tree) if found == ANYTHING else found

    def column(self, tree: exp.Expr) -> Term:
        if isinstance(tree, exp.Column) and is_leaf(tree):
            return self._names(tree)
        return ANYTHING

    def connected(self, tree: exp.Expr, kind: type[exp.Expr], name: str) -> Term:
        """A chain of AND or OR, however long, without recursion along it."""
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
        return call(name, *parts)


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


def _literal(_self: Translator, tree: exp.Expr) -> Term:
    text = str(tree.this)
    if tree.args.get("is_string"):
        return ANYTHING if DOUBLED in text else Constant(text)
    try:
        if "e" in text.lower():
            return Constant(float(text))
        return Constant(Decimal(text) if "." in text else int(text))
    except (ValueError, ArithmeticError):
        return ANYTHING


def _unpadded(left: Term, right: Term) -> Term:
    """A literal beside a CHAR: trailing spaces do not count there."""
    if isinstance(right, Constant) and _is_char(left):
        return Constant(right.value.rstrip(" ")) if isinstance(right.value, str) else right
    return right


def _is_char(term: Term) -> bool:
    if isinstance(term, Call) and term.name == "cast":
        kind = term.args[1]
        return isinstance(kind, Constant) and str(kind.value).startswith("char")
    return isinstance(term, Column) and term.type.startswith("char")


def _compared(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(self: Translator, tree: exp.Expr) -> Term:
        if _binds_otherwise(tree, _CONDITIONS):
            return ANYTHING
        left, right = self.term(tree.this), self.term(tree.args.get("expression"))
        return call(name, _unpadded(right, left), _unpadded(left, right))

    return build


def _equal(self: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, _CONDITIONS):
        return ANYTHING
    left, right = self.term(tree.this), self.term(tree.args.get("expression"))
    if isinstance(left, Call) and left.name == "tuple":
        return call("tuple_in", left, right)
    return call("=", _unpadded(right, left), _unpadded(left, right))


def _arithmetic(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(self: Translator, tree: exp.Expr) -> Term:
        if _binds_otherwise(tree, exp.DPipe):
            return ANYTHING
        left, right = self.term(tree.this), self.term(tree.args.get("expression"))
        if name in "+-" and isinstance(tree.args.get("expression"), exp.Interval):
            return _days_later(left, tree.args["expression"], name)
        # Small integers may overflow among themselves; with an INT beside them they do not.
        for one, other in ((left, right), (right, left)):
            if _is_small(one) and not (
                isinstance(other, Constant) or (isinstance(other, Column) and not _is_small(other))
            ):
                return ANYTHING
        return call(name, left, right)

    return build


def _days_later(left: Term, interval: exp.Expr, sign: str) -> Term:
    """A date and INTERVAL n DAY; an interval beside anything else makes a timestamp."""
    count, unit = interval.this, interval.args.get("unit")
    whole = isinstance(count, exp.Literal) and count.name.isdigit() and len(count.name) < 6
    if kind_of(left) != "date" or not whole or unit is None or unit.name.upper() != "DAY":
        return ANYTHING
    return call("date_add", left, Constant(int(f"{sign}{count.name}")))


# To the engines `a = b < c` is `(a = b) < c`, `a = b IS NULL` is `(a = b) IS NULL`, and || is as
# tight as +; the parser sees it otherwise. Brackets leave no doubt.
_CONDITIONS = (exp.Predicate, exp.Not, exp.Escape)


def _binds_otherwise(tree: exp.Expr, kinds: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> bool:
    return isinstance(tree.this, kinds) or isinstance(tree.args.get("expression"), kinds)


def _piped(self: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, (exp.Add, exp.Sub)):
        return ANYTHING
    return call("concat", self.term(tree.this), self.term(tree.args.get("expression")))


def _is_small(term: Term) -> bool:
    if isinstance(term, Column):
        return term.type in _SMALL_TYPES
    if not isinstance(term, Call) or term.name != "cast":
        return False
    kind = term.args[1]
    return isinstance(kind, Constant) and kind.value in _SMALL_TYPES


def _unary(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(self: Translator, tree: exp.Expr) -> Term:
        return call(name, self.term(tree.this))

    return build


def _inner(self: Translator, tree: exp.Expr) -> Term:
    return self.term(tree.this)


def _between(self: Translator, tree: exp.Expr) -> Term:
    if tree.args.get("symmetric"):
        return ANYTHING
    this = self.term(tree.this)
    low, high = self.term(tree.args.get("low")), self.term(tree.args.get("high"))
    low, high = _unpadded(this, low), _unpadded(this, high)
    return call("and", call(">=", this, low), call("<=", this, high))


def _in(self: Translator, tree: exp.Expr) -> Term:
    if tree.args.get("query") or tree.args.get("unnest") or tree.args.get("field"):
        return ANYTHING
    this = self.term(tree.this)
    members = [_unpadded(this, self.term(each)) for each in tree.expressions]
    if isinstance(this, Call) and this.name == "tuple":
        return call("tuple_in", this, *members)
    if not members:
        return ANYTHING
    constants = [each.value for each in members if isinstance(each, Constant)]
    if len(members) > _LONG_LIST and len(constants) == len(members):
        kinds = {type(each) for each in constants}
        if len(kinds) == 1 and kinds <= {str, int}:
            return call("in", this, Members(frozenset(constants)))
    return call("in", this, *members)


def _is(self: Translator, tree: exp.Expr) -> Term:
    this, other = self.term(tree.this), tree.args.get("expression")
    if isinstance(other, exp.Null):
        return call("is_null", this)
    if isinstance(other, exp.Boolean):
        return call("is_true" if other.this else "is_false", this)
    return ANYTHING


def _null_safe_not(self: Translator, tree: exp.Expr) -> Term:
    if _binds_otherwise(tree, _CONDITIONS):
        return ANYTHING
    return call("not", call("<=>", self.term(tree.this), self.term(tree.args.get("expression"))))


def _like(name: str) -> Callable[[Translator, exp.Expr], Term]:
    def build(self: Translator, tree: exp.Expr) -> Term:
        text, pattern = self.term(tree.this), tree.args.get("expression")
        if isinstance(pattern, exp.Any | exp.All):
            # Whether `NOT LIKE ANY` negates each or all is not the same for both engines.
            listed = pattern.this
            each = listed.expressions if isinstance(listed, exp.Tuple) else [listed]
            terms = [call(name, text, self.term(one)) for one in each]
            found = call("or" if isinstance(pattern, exp.Any) else "and", *terms)
            return ANYTHING if tree.args.get("negate") else found
        found = call(name, text, self.term(pattern))
        return call("not", found) if tree.args.get("negate") else found

    return build


def _null(_self: Translator, _tree: exp.Expr) -> Term:
    return Constant(None)


def _boolean(_self: Translator, tree: exp.Expr) -> Term:
    return Constant(bool(tree.this))


def _and(self: Translator, tree: exp.Expr) -> Term:
    return self.connected(tree, exp.And, "and")


def _or(self: Translator, tree: exp.Expr) -> Term:
    return self.connected(tree, exp.Or, "or")


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
    exp.EQ: _equal,
    exp.NEQ: _compared("<>"),
    exp.LT: _compared("<"),
    exp.LTE: _compared("<="),
    exp.GT: _compared(">"),
    exp.GTE: _compared(">="),
    exp.NullSafeEQ: _compared("<=>"),
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
    exp.DPipe: _piped,
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

# The parts of each expression that its handler reads, or that mean nothing here. One with any
# other part is ANYTHING: the parser may learn to say more than we know of.
_PARTS: dict[type[exp.Expr], str] = {
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
_UNREAD = {
    kind: tuple(
        kind.arg_types.keys()
        - {"this", "expression", "expressions"}
        - set(_PARTS.get(kind, "").split())
    )
    for kind in _HANDLERS
}


def _is_read(tree: exp.Expr) -> bool:
    unread = _UNREAD[type(tree)]
    return not unread or not any(tree.args.get(name) for name in unread)
