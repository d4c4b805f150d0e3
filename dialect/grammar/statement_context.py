"""The state of one statement's analysis, which the grammars share."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token

from conf.catalog.tables import TableInfo, TableKind, ViewText
from conf.names import TableRef
from dialect.errors import NamesTemporary, NotUnderstood
from dialect.lexing.token_cursor import Spec, TokenCursor, table_ref
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.build import Builder
from dialect.lineage.plan import Node
from dialect.lineage.reads import reads_of
from dialect.lineage.resolve import Resolver
from dialect.parsing.language import parse
from dialect.parsing.outline import outline
from dialect.parsing.variables import Pruning, pruning, stores_plans
from dialect.pruning.predicate import Matching
from dialect.pruning.values import canonical
from dialect.rewrites.hive_rewrites import normalize
from dialect.statement import (
    ALL,
    Known,
    PartitionPredicate,
    Read,
    SessionEffect,
    Write,
    WriteAction,
)


@dataclass(slots=True)
class StatementContext:
    """The tokens of one statement, what its names mean, and the plans of its queries (`roots`)."""

    cursor: TokenCursor
    analysis: AnalysisContext
    builder: Builder
    roots: list[Node] = field(default_factory=list)

    @property
    def database(self) -> str:
        return self.analysis.namespace.database.lower()

    def table_name(self) -> TableRef:
        """Reads the name of a table. Raises NamesTemporary, as `table_of`."""
        return self.table_of(self.cursor.names())

    def table_of(self, parts: Sequence[str]) -> TableRef:
        """The table of that name. Raises NamesTemporary if it means a temporary object."""
        name = self.temporary(parts)
        if name is not None:
            raise NamesTemporary(f"{name} is a temporary object")
        return table_ref(parts, self.database)

    def look_up(self, ref: TableRef) -> TableInfo | None:
        return self.analysis.look_up(ref)

    def query(self, tokens: Sequence[Token]) -> Node:
        """Parses a query and adds its plan to `roots`. Raises NotUnderstood."""
        rewritten = normalize(list(tokens))
        tree = parse(rewritten, self.cursor.sql)
        try:
            node = self.builder.statement_plan(tree)
        except NotUnderstood as error:
            node = self._by_outline(rewritten, error)
        self.roots.append(node)
        return node

    def _by_outline(self, tokens: list[Token], refused: NotUnderstood) -> Node:
        """The plan of the query's outline, in case the parser has misread a keyword as a name or
        the reverse. Raises `refused` if there is none."""
        with suppress(NotUnderstood):
            return self.builder.statement_plan(outline(tokens))
        raise refused

    def read_table(self, parts: list[str]) -> Node:
        """Adds the plan of a table that is named outside a query; all of it counts as read."""
        node = self.builder.named(parts)
        self.roots.append(node)
        return node

    def read_rest_as_query(self) -> Node:
        return self.query(self.cursor.rest())

    def read_rest_as_view(self, columns: tuple[str, ...] = ()) -> ViewText:
        """Reads the rest as a temporary view's query. The view has the meaning of its names now."""
        cursor, analysis = self.cursor, self.analysis
        if cursor.done:
            raise NotUnderstood("a query expected near its end")
        if stores_plans(analysis.namespace.variables):
            raise NotUnderstood("a temporary view that stores its plan with the current files")
        text = cursor.sql[cursor.tokens[cursor.at].start : cursor.tokens[-1].end + 1]
        query = self.read_rest_as_query()
        produced = (Resolver().columns(query) if columns else None) or ()
        temps = tuple(analysis.temps)
        return ViewText(text, self.database, columns, produced, temps, analysis.double_quoted_names)

    def is_view(self, ref: TableRef) -> bool:
        info = self.look_up(ref)
        return info is not None and info.kind is TableKind.VIEW

    def temporary(self, parts: Sequence[str]) -> str | None:
        """The name of the temporary object that the parts mean, recorded as used; or None."""
        return self.analysis.temporary(parts)

    def temporary_paths(self, name: str) -> tuple[str, ...]:
        """The paths to which an INSERT into a temporary object writes; none for a view with a
        query, for which Spark refuses INSERT. Raises NotUnderstood if the paths are not known."""
        paths = self.analysis.session_object(name)
        if not isinstance(paths, tuple):
            return ()
        if not paths:
            raise NotUnderstood(f"an INSERT into {name}: its files are not known")
        return paths

    def write(
        self,
        ref: TableRef,
        action: WriteAction,
        spec: Spec | None = None,
        *,
        partitions: PartitionPredicate = ALL,
        can_add: bool = False,
    ) -> Write:
        """A write of the table, or of the partitions that `spec` names."""
        info = self.look_up(ref)
        if spec is None:
            return Write(ref, action, info is not None, partitions)
        keys = {} if info is None else {key.name.lower(): key for key in info.partition_keys}
        static = tuple(
            (key, canonical(value, keys[key].type) if key in keys else value)
            for key, value in spec
            if value is not None
        )
        complete = len(static) == (len(keys) or len(spec))
        dynamic = can_add and not complete
        named = (static,) if static and complete else ()
        return Write(
            ref,
            action,
            info is not None,
            Matching(static) if static else ALL,
            named=named,
            dynamic=dynamic,
        )

    def known(
        self,
        kind: str,
        *,
        writes: Iterable[Write] = (),
        reads: Iterable[Read] = (),
        effect: SessionEffect | None = None,
        paths_read: Iterable[str] = (),
        paths_written: Iterable[str] = (),
        database_written: str | None = None,
        cascade: bool = False,
        defines: bool = False,
        lists_temps: bool = False,
    ) -> Known:
        """The result of the analysis, with the reads of all queries in `roots`. With `defines`
        these are not read now (`Known.defined`)."""
        settings = pruning(self.analysis.namespace.variables)
        found = reads_of(
            [*self.roots, *self.builder.detached], Pruning.NONE if self.builder.shared else settings
        )
        own = tuple(each for each in reads if each.table not in {read.table for read in found})
        return Known(
            kind,
            reads=own if defines else (*found, *own),
            writes=tuple(writes),
            views=tuple(self.analysis.views),
            paths_read=(*self.analysis.paths, *paths_read),
            paths_written=tuple(paths_written),
            database_written=database_written,
            cascade=cascade,
            temps=tuple(self.analysis.temps),
            lists_temps=lists_temps,
            effect=effect,
            defined=found if defines else (),
        )
