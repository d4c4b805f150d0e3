"""Resolves columns to terms, through sub-queries, views, unions and renames."""

from sqlglot import exp

from conf.catalog.tables import TableInfo
from dialect.lineage.expressions import Translator
from dialect.lineage.plan import (
    Block,
    Entry,
    Join,
    Lateral,
    Leaf,
    Node,
    Renamed,
    Scan,
    Scope,
    SetOp,
)
from dialect.pruning.terms import ANYTHING, Column, Term


class Resolver:
    """Resolves names of one statement's plans. Answers are remembered."""

    def __init__(self) -> None:
        self._outputs: dict[tuple[int, str], Term | None] = {}
        self._columns: dict[int, tuple[str, ...] | None] = {}
        self._scan_types: dict[int, dict[str, str]] = {}

    def term(self, tree: exp.Expr | None, scope: Scope) -> Term:
        """An expression's term, its names read in `scope`."""
        return Translator(lambda column: self._name(column, scope)).term(tree)

    # Names in a scope

    def _name(self, column: exp.Column, scope: Scope) -> Term:
        name = column.name.lower()
        table = column.table.lower()
        database = column.text("db").lower()
        here: Scope | None = scope
        while here is not None:
            found = self._in_scope(here, name, table, database)
            if found is not None:
                return found
            here = here.parent
        return ANYTHING

    def _in_scope(self, scope: Scope, name: str, table: str, database: str) -> Term | None:
        if table:
            matching = [each for each in scope.entries if _answers(each, table, database)]
            if not matching:
                return None
            found = self._of_entry(matching[0], name)
            return ANYTHING if found is None or len(matching) > 1 else found
        if name in scope.merged:
            side = scope.merged[name]
            return ANYTHING if side is None else (self.output(side, name) or ANYTHING)
        sure, unsure = [], 0
        for each in scope.entries:
            found = self._of_entry(each, name)
            if found is not None:
                sure.append(found)
            elif self._may_have(each):
                unsure += 1
        if len(sure) == 1:
            return sure[0]
        return ANYTHING if sure or unsure else None

    def _may_have(self, entry: Entry) -> bool:
        """Whether some of its columns are unknown, so that it may have any name."""
        if entry.generated is not None:
            return not entry.generated
        return self.columns(entry.node) is None

    def _of_entry(self, entry: Entry, name: str) -> Term | None:
        if entry.generated is not None:
            return ANYTHING if name in entry.generated else None
        return self.output(entry.node, name)

    # Columns of a relation

    def output(self, node: Node, name: str) -> Term | None:
        """The term of a relation's column; None when it has no such column or may have none."""
        key = (id(node), name)
        if key not in self._outputs:
            self._outputs[key] = None  # a cycle has no such column
            self._outputs[key] = self._output(node, name)
        return self._outputs[key]

    def _output(self, node: Node, name: str) -> Term | None:
        if isinstance(node, Scan):
            return self._scanned(node, name)
        if isinstance(node, Leaf):
            return ANYTHING if node.columns and name in node.columns else None
        if isinstance(node, Lateral):
            return self.output(node.source, name)
        if isinstance(node, Renamed):
            return self.output_at(node, node.names.index(name)) if name in node.names else None
        if isinstance(node, SetOp):
            return self._of_set(node, name)
        if isinstance(node, Join):
            left, right = self.output(node.left, name), self.output(node.right, name)
            return left if right is None else (right if left is None else ANYTHING)
        return self._selected(node, name)

    def _scanned(self, scan: Scan, name: str) -> Term | None:
        types = self._scan_types.get(scan.rid)
        if types is None:
            types = self._scan_types[scan.rid] = _types(scan.info)
        kind = types.get(name)
        return None if kind is None else Column(scan.rid, name, kind)

    def _of_set(self, node: SetOp, name: str) -> Term | None:
        if len(node.branches) == 1:
            return self.output(node.branches[0], name)
        names = self.columns(node.branches[0])
        if names is None:
            return ANYTHING if self.output(node.branches[0], name) is not None else None
        if names.count(name) != 1:
            return ANYTHING if name in names else None
        at = names.index(name)
        first = self.output_at(node.branches[0], at)
        kind = first.type if isinstance(first, Column) else ""
        return Column(node.rid, str(at), kind)

    def _selected(self, block: Block, name: str) -> Term | None:
        stars: list[exp.Expr] = []
        found: list[exp.Expr] = []
        for at, each in enumerate(block.select.expressions):
            if _is_pattern(each):
                return ANYTHING
            if _is_star(each):
                stars.append(each)
            elif name in _names_of(each, at):
                found.append(each)
        if found:
            return self._projected(found[0], block) if len(found) == 1 else ANYTHING
        answers = [
            answer
            for star in stars
            for entry in _starred(star, block.scope)
            if (answer := self._of_entry(entry, name)) is not None
        ]
        if not answers:
            return None
        return answers[0] if len(answers) == 1 else ANYTHING

    def _projected(self, tree: exp.Expr, block: Block) -> Term:
        if isinstance(tree, exp.Alias):
            tree = tree.this
        if isinstance(tree, exp.Aliases | exp.QueryTransform):
            return ANYTHING
        # Without the outer query: a name unknown here may be an alias of this very list.
        return self.term(tree, Scope(block.scope.entries, None, block.scope.merged))

    def output_at(self, node: Node, at: int) -> Term:
        """The term of a relation's column by position; ANYTHING when that is not certain."""
        if isinstance(node, SetOp) and len(node.branches) > 1:
            first = self.output_at(node.branches[0], at)
            return Column(node.rid, str(at), first.type if isinstance(first, Column) else "")
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
            return self._selected_at(node, at)
        names = self.columns(node)
        if names is None or at >= len(names) or names.count(names[at]) > 1:
            return ANYTHING
        return self.output(node, names[at]) or ANYTHING

    def _selected_at(self, block: Block, at: int) -> Term:
        here = 0
        for number, each in enumerate(block.select.expressions):
            if _is_pattern(each):
                return ANYTHING
            if not _is_star(each):
                width = len(_names_of(each, number))
                if here <= at < here + width:
                    return self._projected(each, block) if width == 1 else ANYTHING
                here += width
                continue
            for entry in _starred(each, block.scope):
                names = self._entry_columns(entry)
                if names is None or block.scope.merged:
                    return ANYTHING
                if at < here + len(names):
                    return self._of_entry(entry, names[at - here]) or ANYTHING
                here += len(names)
        return ANYTHING

    # The columns' names

    def columns(self, node: Node) -> tuple[str, ...] | None:
        """A relation's columns in order; None when they are not all known."""
        key = id(node)
        if key not in self._columns:
            self._columns[key] = None
            self._columns[key] = self._listed(node)
        return self._columns[key]

    def _listed(self, node: Node) -> tuple[str, ...] | None:
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
            for entry in _starred(each, block.scope):
                more = self._entry_columns(entry)
                if more is None or block.scope.merged:
                    return None
                names.extend(more)
        return tuple(names)

    def _entry_columns(self, entry: Entry) -> tuple[str, ...] | None:
        if entry.generated is not None:
            return entry.generated or None
        return self.columns(entry.node)


def _answers(entry: Entry, table: str, database: str) -> bool:
    return entry.alias == table and (not database or entry.database == database)


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
    """`(ds|hr)?+.+` in backquotes: to Hive, every column that matches; and a changed star."""
    if isinstance(tree, exp.Star):
        return any(tree.args.values())
    if not isinstance(tree, exp.Column) or not isinstance(tree.this, exp.Identifier):
        return False
    return bool(tree.this.args.get("quoted")) and any(sign in tree.name for sign in "()*+?|[^$.\\")


def _starred(star: exp.Expr, scope: Scope) -> list[Entry]:
    """The relations that a star takes its columns from."""
    if isinstance(star, exp.Column) and star.table:
        return [each for each in scope.entries if each.alias == star.table.lower()]
    return scope.entries


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
