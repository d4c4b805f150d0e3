"""The outline of a query: its tables, CTEs and sub-queries, without any expression.

The parser cannot read every expression of Spark. If it fails, the outline still has the tables that
a query reads, because Spark's grammar has tables in few places: after FROM, JOIN and TABLE, and
after a comma of FROM. In Spark nearly every keyword may also be a name. If a word could be either
and a table depends on it, the query is refused, so that no table is missed. An outline has no
conditions and no known columns, so nothing is pruned by it.
"""

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import FUNCTIONS_WITH_FROM, begins_query, is_name
from dialect.parsing.query_cursor import SETS, SINGLE, QueryCursor
from dialect.parsing.values_rows import begins_rows
from dialect.work import spend

_OPEN, _COMMA = TokenType.L_PAREN, TokenType.COMMA
_BEFORE_ARGUMENTS = frozenset({_OPEN, _COMMA, TokenType.FARROW})
# Words that may follow an argument TABLE(t).
_PARTITIONING = frozenset({"WITH", "PARTITION", "PARTITION BY", "DISTRIBUTE", "DISTRIBUTE BY"})
_TOKENS_A_STEP = 2
_LISTS = frozenset({"GROUP BY", "ORDER BY", "CLUSTER BY", "DISTRIBUTE BY", "SORT BY"})
_CLAUSES = _LISTS | SINGLE | {"WINDOW"}
# A table may follow these words. In an expression they are refused, unless no table can follow.
_REFUSED = frozenset({"FROM", "JOIN", "TABLE", "SELECT", "INSERT"})


def outline(tokens: Sequence[Token]) -> exp.Select:
    """A query's outline as a tree of SELECTs. Raises NotUnderstood."""
    spend(len(tokens) // _TOKENS_A_STEP)
    reader = _OutlineReader(tokens)
    tree = reader.query()
    if not reader.done:
        raise reader.refusal()
    return tree


class _OutlineReader(QueryCursor):
    """Reads the tokens from left to right by recursive descent. A method stops at a token that it
    does not read, or raises NotUnderstood."""

    # Queries

    def query(self) -> exp.Select:
        """A query up to the bracket that closes it, or the end."""
        select = _select()
        select.set("limit", exp.Limit(expression=exp.Literal.number(1)))
        if self.take("WITH"):
            ctes = [self._cte()]
            while self.take_kind(_COMMA):
                ctes.append(self._cte())
            select.set("with_", exp.With(expressions=ctes))
        self._term(select)
        self._more_terms(select)
        return select

    def _more_terms(self, select: exp.Select) -> None:
        """Set operations with more terms, and clauses such as ORDER BY between them."""
        while not self.ends():
            if self.take_set_operation():
                self._term(select)
            else:
                self._clauses(select)

    def _cte(self) -> exp.CTE:
        name = self.name()
        if self.kind() == _OPEN and not begins_query(self.tokens, self.at):
            self.at += 1
            self.name()
            while self.take_kind(_COMMA):
                self.name()
            self.close()
        self.take("AS")
        if self.kind() != _OPEN:
            raise self.refusal()
        return exp.CTE(this=self._bracketed_query(), alias=exp.TableAlias(this=name))

    def _bracketed_query(self) -> exp.Select:
        self.at += 1
        select = self.query()
        self.close()
        return select

    def _term(self, select: exp.Select) -> None:
        """One SELECT, TABLE, VALUES or FROM .. SELECT, or a query in brackets."""
        if self.kind() == _OPEN:
            _add_source(select, exp.Subquery(this=self._bracketed_query()))
        elif self.take("TABLE"):
            _add_source(select, self._table())
        elif self.take("VALUES"):
            self._check_row()
            self._expressions(select)
        elif self.take("SELECT"):
            self._selected(select)
            if self.take("FROM"):
                self._from(select)
        elif self.take("FROM"):
            self._from(select)
            if self.peek() != "SELECT":
                raise self.refusal()
            while self.take("SELECT"):
                self._selected(select)
        else:
            raise self.refusal()

    def _selected(self, select: exp.Select) -> None:
        """The expressions of SELECT, and its clauses if there is no FROM: no join can follow.

        There is at least one expression: `SELECT FROM t` has the column from with the alias t, and
        `SELECT DISTINCT FROM t` may have the column distinct.
        """
        start = self.at
        if self.peek() in ("ALL", "DISTINCT") and self.peek(1) == "FROM":
            raise self.refusal()
        self.take("FROM")
        start += self.peek() in ("ALL", "DISTINCT")
        self._expressions(select, frozenset({"JOIN", "TABLE"}))
        if self.at == start:
            raise self.refusal()

    # FROM

    def _from(self, select: exp.Select) -> None:
        """The relations of FROM, and the clauses after them. A comma after LATERAL VIEW or a pipe
        separates no relations."""
        self._relation(select)
        listed = False
        while not self.ends():
            word = self.peek()
            if word in SETS or word == "SELECT":
                return
            if word in _CLAUSES and (word != "WINDOW" or self._opens_window()):
                self._clauses(select)
            elif (word, self.peek(1)) in (("LATERAL", "VIEW"), ("|", ">")):
                listed = True
                self.at += 2
            elif (word == "JOIN" or self.kind() == _COMMA) and not listed:
                self.at += 1
                self._relation(select)
            else:
                self._step(select)

    def _relation(self, select: exp.Select) -> None:
        if self.take("LATERAL") and "(" not in (self.peek(), self.peek(1)):
            raise self.refusal()  # lateral may be a table's name
        if self.kind() == _OPEN:
            self._bracketed(select)
        elif self.take("VALUES"):
            self._check_row()
            self._rows(select)
        else:
            _add_source(select, self._table(select))

    def _bracketed(self, select: exp.Select) -> None:
        """`(query)`, `(t JOIN u)`, or both: `((SELECT ..) x JOIN t)`."""
        if self.query_opens():
            _add_source(select, exp.Subquery(this=self._bracketed_query()))
            return
        self.at += 1
        self._from(select)
        self._more_terms(select)
        self.close()

    def _table(self, caller: exp.Select | None = None) -> exp.Table:
        """A table by its name; in FROM also a call of a table function."""
        parts = [self.name()]
        while self.take_kind(TokenType.DOT):
            parts.append(self.name())
        if self.kind() == _OPEN and caller is not None:
            if len(parts) > 1:
                raise NotUnderstood("a table function of another database")
            texts = self._arguments(caller)
            return exp.Table(this=exp.Anonymous(this=parts[0].name, expressions=texts))
        if len(parts) > 3:
            raise self.refusal()
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))

    def _arguments(self, select: exp.Select) -> list[exp.Expr]:
        """A table function's arguments. Only texts are kept, because they may name a table."""
        start = self.at
        self._group(select, of_table_function=True)
        inner = self.tokens[start + 1 : self.at - 1]
        return [
            exp.Literal.string(token.text) if token.token_type == TokenType.STRING else exp.Null()
            for token in inner
            if token.token_type != _COMMA
        ]

    def _check_row(self, plain: bool = True) -> None:
        """Raises NotUnderstood if no row of VALUES follows: VALUES may be a table's name.

        `plain`: the row before is one literal or bracket. After another row a bracket may contain a
        table: `VALUES 1 + 2 v(x), (t)`.
        """
        is_row = begins_rows(self.tokens, self.at)
        if not is_row or (self.kind() == _OPEN and not plain):
            raise self.refusal()

    def _rows(self, select: exp.Select) -> None:
        """The rows of VALUES in FROM, up to an alias, a join or a clause."""
        ended = False
        steps = 0
        while not self.ends():
            kind, word = self.kind(), self.peek()
            if word == "AS" or (ended and is_name(self.tokens[self.at])):
                return
            ended = kind in (_OPEN, TokenType.NUMBER, TokenType.STRING)
            self._step(select)
            steps += 1
            if kind == _COMMA:
                self._check_row(plain=steps <= 2)
                steps = 0

    # Expressions

    def _clauses(self, select: exp.Select) -> None:
        """Clauses such as WHERE, up to a set operation, SELECT, a closing bracket or the end."""
        single = False
        if self.peek() not in _CLAUSES:
            raise self.refusal()
        while not self.ends():
            word = self.peek()
            if word == "SELECT" or (word in SETS and self.opens_term()):
                return
            if word in _CLAUSES:
                single = word in SINGLE
            if word == "WINDOW" and not self._opens_window():
                raise self.refusal()
            if single and self.kind() == _COMMA:
                raise self.refusal()
            self._step(select)

    def _opens_window(self) -> bool:
        """Whether WINDOW is the keyword of `WINDOW w AS`; else it is an alias."""
        return self.kind() == TokenType.WINDOW

    def _expressions(self, select: exp.Select, allowed: frozenset[str] = frozenset()) -> None:
        """Expressions up to FROM, SELECT, a set operation, a closing bracket or the end."""
        while not self.ends():
            word = self.peek()
            if word == "FROM" and not self.after_distinct():
                if self.may_compare():
                    raise self.refusal()
                return
            if word == "SELECT" or (word in SETS and self.opens_term()):
                return
            self._step(select, allowed)

    def _step(self, select: exp.Select, allowed: frozenset[str] = frozenset()) -> None:
        """One token of an expression, or a group in brackets."""
        if self.kind() == _OPEN:
            self._group(select)
            return
        word = self.peek()
        harmless = word in allowed or self.is_field() or self.after_distinct()
        if word in _REFUSED and not harmless:
            raise self.refusal()
        self.at += 1

    def _group(self, select: exp.Select, of_table_function: bool = False) -> None:
        """The contents of brackets: a query, or expressions with queries among them. `TABLE (t)` is
        read as an argument of a table function and refused elsewhere."""
        function = self.peek(-1) if self.at else ""
        if self.query_opens() and not (function in FUNCTIONS_WITH_FROM and self.peek(1) == "FROM"):
            _add_query(select, self._bracketed_query())
            return
        self.at += 1
        with_from = frozenset({"FROM"}) if function in FUNCTIONS_WITH_FROM else frozenset[str]()
        while not self.ends():
            word = self.peek()
            if of_table_function and self._at_table_argument():
                self._table_argument(select)
            elif word in SETS and self.opens_term():
                self.take_set_operation()
                nested = _select()
                self._term(nested)
                _add_query(select, nested)
            else:
                self._step(select, with_from)
        self.close()

    def _at_table_argument(self) -> bool:
        """Whether `TABLE (` begins an argument; inside an expression it calls a function."""
        before = self.tokens[self.at - 1].token_type
        return self.peek() == "TABLE" and self.peek(1) == "(" and before in _BEFORE_ARGUMENTS

    def _table_argument(self, select: exp.Select) -> None:
        """`TABLE(t)` or `TABLE(query)`, and nothing of an expression after it."""
        self.at += 1
        if begins_query(self.tokens, self.at):
            _add_query(select, self._bracketed_query())
        else:
            self.at += 1
            nested = _select()
            _add_source(nested, self._table())
            _add_query(select, nested)
            self.close()
        if not self.ends() and self.kind() != _COMMA and self.peek() not in _PARTITIONING:
            raise self.refusal()


def _select() -> exp.Select:
    """A SELECT of a pattern of names, which may stand for any columns."""
    return exp.Select(expressions=[exp.Column(this=exp.Identifier(this=".*", quoted=True))])


def _add_source(select: exp.Select, source: exp.Expr) -> None:
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=source))
    else:
        select.append("joins", exp.Join(this=source, kind="CROSS"))


def _add_query(select: exp.Select, query: exp.Select) -> None:
    select.append("expressions", exp.Subquery(this=query))
