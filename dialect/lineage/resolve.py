"""Resolves columns to terms, through sub-queries, views, unions and renames.

In `SELECT x.d FROM (SELECT ds AS d FROM t) x` the column `x.d` becomes the column ds of the scan of
t. In this module None means that a relation has no such column, and ANYTHING that it may have one
whose term is not known.
"""

from sqlglot import exp

from conf.catalog.tables import TableInfo
from dialect.lineage.expressions import Translator
from dialect.lineage.plan import (
    Block,
    FromItem,
    Join,
    Lateral,
    Leaf,
    Node,
    Renamed,
    Scan,
    Scope,
    SetOp,
)
from dialect.pruning.terms import ANYTHING, ScanColumn, Term


class Resolver:
    """Resolves the names of one statement's plans, each once."""

    def __init__(self) -> None:
        self._outputs: dict[tuple[int, str], Term | None] = {}
        self._columns: dict[int, tuple[str, ...] | None] = {}
        self._scan_types: dict[int, dict[str, str]] = {}

    def term(self, tree: exp.Expr | None, scope: Scope) -> Term:
        """The term of an expression whose names belong to `scope`."""
        return Translator(lambda column: self._resolve(column, scope)).term(tree)

    # Names in a scope

    def _resolve(self, column: exp.Column, scope: Scope) -> Term:
        name = column.name.lower()
        table = column.table.lower()
        database = column.text("db").lower()
        current: Scope | None = scope
        while current is not None:
            term = self._in_scope(current, name, table, database)
            if term is not None:
                return term
            current = current.parent
        return ANYTHING

    def _in_scope(self, scope: Scope, name: str, table: str, database: str) -> Term | None:
        if table:
            matching = [each for each in scope.items if _matches(each, table, database)]
            if not matching:
                return None
            term = self._item_column(matching[0], name)
            return ANYTHING if term is None or len(matching) > 1 else term
        if name in scope.merged:
            side = scope.merged[name]
            return ANYTHING if side is None else (self.output(side, name) or ANYTHING)
        certain, possible = [], 0
        for each in scope.items:
            term = self._item_column(each, name)
            if term is not None:
                certain.append(term)
            elif self._may_have(each):
                possible += 1
        if len(certain) == 1:
            return certain[0]
        return ANYTHING if certain or possible else None

    def _may_have(self, item: FromItem) -> bool:
        """Whether the item may have a column of any name, because its columns are not known."""
        if item.generated is not None:
            return not item.generated
        return self.columns(item.node) is None

    def _item_column(self, item: FromItem, name: str) -> Term | None:
        if item.generated is not None:
            return ANYTHING if name in item.generated else None
        return self.output(item.node, name)

    # Columns of a relation

    def output(self, node: Node, name: str) -> Term | None:
        """The term of a relation's column; None if it has none of that name, or may have none."""
        key = (id(node), name)
        if key not in self._outputs:
            self._outputs[key] = None  # the result while the column is resolved by way of itself
            self._outputs[key] = self._output(node, name)
        return self._outputs[key]

    def _output(self, node: Node, name: str) -> Term | None:
        if isinstance(node, Scan):
            return self._scan_column(node, name)
        if isinstance(node, Leaf):
            return ANYTHING if node.columns and name in node.columns else None
        if isinstance(node, Lateral):
            return self.output(node.source, name)
        if isinstance(node, Renamed):
            return self.output_at(node, node.names.index(name)) if name in node.names else None
        if isinstance(node, SetOp):
            return self._set_column(node, name)
        if isinstance(node, Join):
            left, right = self.output(node.left, name), self.output(node.right, name)
            return left if right is None else (right if left is None else ANYTHING)
        return self._selected_column(node, name)

    def _scan_column(self, scan: Scan, name: str) -> Term | None:
        types = self._scan_types.get(scan.rid)
        if types is None:
            types = self._scan_types[scan.rid] = _types(scan.info)
        kind = types.get(name)
        return None if kind is None else ScanColumn(scan.rid, name, kind)

    def _set_column(self, node: SetOp, name: str) -> Term | None:
        if len(node.branches) == 1:
            return self.output(node.branches[0], name)
        names = self.columns(node.branches[0])
        if names is None:
            return ANYTHING if self.output(node.branches[0], name) is not None else None
        if names.count(name) != 1:
            return ANYTHING if name in names else None
        at = names.index(name)
        first = self.output_at(node.branches[0], at)
        kind = first.type if isinstance(first, ScanColumn) else ""
        return ScanColumn(node.rid, str(at), kind)

    def _selected_column(self, block: Block, name: str) -> Term | None:
        stars: list[exp.Expr] = []
        projections: list[exp.Expr] = []
        for at, each in enumerate(block.select.expressions):
            if _is_pattern(each):
                return ANYTHING
            if _is_star(each):
                stars.append(each)
            elif name in _names_of(each, at):
                projections.append(each)
        if projections:
            return self._projection(projections[0], block) if len(projections) == 1 else ANYTHING
        terms = [
            term
            for star in stars
            for item in _star_items(star, block.scope)
            if (term := self._item_column(item, name)) is not None
        ]
        if not terms:
            return None
        return terms[0] if len(terms) == 1 else ANYTHING

    def _projection(self, tree: exp.Expr, block: Block) -> Term:
        if isinstance(tree, exp.Alias):
            tree = tree.this
        if isinstance(tree, exp.Aliases | exp.QueryTransform):
            return ANYTHING
        # Without the outer scope: an unknown name may be an alias of the same SELECT list.
        return self.term(tree, Scope(block.scope.items, None, block.scope.merged))

    def output_at(self, node: Node, at: int) -> Term:
        """The term of a relation's column by position; ANYTHING if it is not certain."""
        if isinstance(node, SetOp) and len(node.branches) > 1:
            first = self.output_at(node.branches[0], at)
            return ScanColumn(
                node.rid, str(at), first.type if isinstance(first, ScanColumn) else ""
            )
        if isinstance(node, SetOp):
            return self.output_at(node.branches[0], at)
        if isinstance(node, Renamed) and node.originals:
            originals = node.originals
            if at >= len(originals) or originals.count(originals[at]) > 1:
                return ANYTHING
            return self.output(node.source, originals[at]) or ANYTHING
        if isinstance(node, Renamed):
            return self.output_at(node.source, at)
        if isinstance(node, Block):
            return self._selected_column_at(node, at)
        names = self.columns(node)
        if names is None or at >= len(names) or names.count(names[at]) > 1:
            return ANYTHING
        return self.output(node, names[at]) or ANYTHING

    def _selected_column_at(self, block: Block, at: int) -> Term:
        start = 0
        for number, each in enumerate(block.select.expressions):
            if _is_pattern(each):
                return ANYTHING
            if not _is_star(each):
                width = len(_names_of(each, number))
                if start <= at < start + width:
                    return self._projection(each, block) if width == 1 else ANYTHING
                start += width
                continue
            for item in _star_items(each, block.scope):
                names = self._item_columns(item)
                if names is None or block.scope.merged:
                    return ANYTHING
                if at < start + len(names):
                    return self._item_column(item, names[at - start]) or ANYTHING
                start += len(names)
        return ANYTHING

    # The columns' names

    def columns(self, node: Node) -> tuple[str, ...] | None:
        """The names of a relation's columns in order; None if not all are known."""
        key = id(node)
        if key not in self._columns:
            self._columns[key] = None
            self._columns[key] = self._list_columns(node)
        return self._columns[key]

    def _list_columns(self, node: Node) -> tuple[str, ...] | None:
        if isinstance(node, Scan):
            if node.info is None or not node.info.columns:
                return None
            keys = [key.name.lower() for key in node.info.partition_keys]
            names = [column.name.lower() for column in node.info.columns]
            return (*(name for name in names if name not in keys), *keys)
        if isinstance(node, Leaf):
            return node.columns or None
        if isinstance(node, Lateral):
            return None
        if isinstance(node, Renamed):
            return node.names
        if isinstance(node, SetOp):
            return self.columns(node.branches[0])
        if isinstance(node, Join):
            left, right = self.columns(node.left), self.columns(node.right)
            return None if left is None or right is None or node.using else (*left, *right)
        return self._block_columns(node)

    def _block_columns(self, block: Block) -> tuple[str, ...] | None:
        names: list[str] = []
        for at, each in enumerate(block.select.expressions):
            if _is_pattern(each):
                return None
            if not _is_star(each):
                names.extend(_names_of(each, at))
                continue
            for item in _star_items(each, block.scope):
                item_names = self._item_columns(item)
                if item_names is None or block.scope.merged:
                    return None
                names.extend(item_names)
        return tuple(names)

    def _item_columns(self, item: FromItem) -> tuple[str, ...] | None:
        if item.generated is not None:
            return item.generated or None
        return self.columns(item.node)


def _matches(item: FromItem, table: str, database: str) -> bool:
    return item.alias == table and (not database or item.database == database)


def _types(info: TableInfo | None) -> dict[str, str]:
    if info is None:
        return {}
    types = {column.name.lower(): column.type for column in info.columns}
    types.update((key.name.lower(), key.type) for key in info.partition_keys)
    return types


def _is_star(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Star) or (
        isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    )


def _is_pattern(tree: exp.Expr) -> bool:
    """Whether it stands for the columns that match a pattern, as "`(ds|hr)?+.+`" does in Hive, or
    is a star with EXCEPT, REPLACE or RENAME."""
    if isinstance(tree, exp.Star):
        return any(tree.args.values())
    if not isinstance(tree, exp.Column) or not isinstance(tree.this, exp.Identifier):
        return False
    return bool(tree.this.args.get("quoted")) and any(sign in tree.name for sign in "()*+?|[^$.\\")


def _star_items(star: exp.Expr, scope: Scope) -> list[FromItem]:
    """The FROM items whose columns a star stands for."""
    if isinstance(star, exp.Column) and star.table:
        return [each for each in scope.items if each.alias == star.table.lower()]
    return scope.items


def _names_of(tree: exp.Expr, at: int) -> tuple[str, ...]:
    if isinstance(tree, exp.Aliases):
        return tuple(each.name.lower() for each in tree.aliases)
    if isinstance(tree, exp.QueryTransform):
        schema = tree.args.get("schema")
        return (
            tuple(each.name.lower() for each in schema.expressions) if schema else ("key", "value")
        )
    if isinstance(tree, exp.Dot):
        return (tree.name.lower(),)
    return (tree.alias_or_name.lower() or f"_c{at}",)
