"""Predicate pushdown: finds the conditions by which a scan's partitions may be left out.

`Pruner.push_down` walks a plan from the root to its scans. With each node it carries conditions on
the node's rows: a row that does not satisfy them cannot change the statement's result. A step
(`_push_into_..`) turns them into conditions on the rows of the node's sources:

- A SELECT passes what LIMIT, windows and GROUP BY permit, and adds its WHERE.
- A set operation writes the conditions in the columns of each branch.
- A join passes each condition to the side on which it may leave rows out, adds its ON, and infers
  conditions over equal columns (`pruning.infer`).

A join infers from the constraints of its sides. As in Spark, a node's constraints are conditions
that each of its rows satisfies because of the WHERE and ON below it. So constraints go up the plan,
and conditions go down.

Example: p and q are partitioned by ds.

    SELECT * FROM p LEFT JOIN q ON p.ds = q.ds WHERE p.ds = '1'

1. The SELECT passes `p.ds = '1'` to the join.
2. The join passes it to p, the side of which a LEFT JOIN keeps every row. ON goes to q alone.
3. `p.ds = '1'` and `p.ds = q.ds` give `q.ds = '1'`. It goes to q, because a row of q matters only
   beside a row of p that is kept.

With `WHERE q.ds = '1'` no row padded with NULL remains. Then the join is an inner one
(`_effective_kind`), and both sides are pruned.

Spark's optimizer is the measure: a partition that Spark reads must not be left out, even if the
result does not need it (docs/internals/dialect.md).
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from dialect.lineage.clauses import aggregates, nth_output, uses_aliases
from dialect.lineage.plan import Block, Join, JoinKind, Lateral, Leaf, Node, Renamed, Scan, SetOp
from dialect.lineage.resolve import Resolver
from dialect.parsing.variables import Pruning
from dialect.pruning.evaluate import rejects_nulls
from dialect.pruning.infer import as_written, inferred, is_inferred
from dialect.pruning.terms import (
    ANYTHING,
    TRUE,
    Operation,
    ScanColumn,
    Term,
    columns_of,
    conjuncts,
    kind_of,
    on_columns_of,
    operation,
    relevant_to,
    replace_columns,
    rids_of,
)
from dialect.work import spend

# At most so many conditions on one node are kept, the first ones: more cost time and prune little.
MAX_CONDITIONS = 400


class Pruner:
    """Finds the conditions on the scans of one plan. `by_scan` has the result by the scan's rid."""

    def __init__(self, pruning: Pruning = Pruning.INFERRED) -> None:
        self._pruning = pruning
        self._resolver = Resolver()
        self._constraints_of: dict[int, list[Term]] = {}
        self._rids_of: dict[int, frozenset[int]] = {}
        self._where_by_block: dict[int, list[Term]] = {}
        self.by_scan: dict[int, list[Term]] = {}

    def push_down(self, root: Node) -> None:
        """Fills `by_scan` from the plan `root`."""
        waiting: list[tuple[Node, list[Term]]] = [(root, [])]
        while waiting:
            node, terms = waiting.pop()
            spend(1 + len(terms))
            if isinstance(node, Scan):
                self.by_scan[node.rid] = [as_written(term) for term in terms]
            else:
                waiting.extend(self._push_below(node, terms))

    def _push_below(self, node: Node, terms: list[Term]) -> Iterable[tuple[Node, list[Term]]]:
        """The node's sources, each with the conditions on its rows."""
        if isinstance(node, Lateral | Renamed):
            return [(node.source, terms)]
        if isinstance(node, Join):
            return self._push_into_sides(node, terms)
        if isinstance(node, SetOp):
            return self._push_into_branches(node, terms)
        if isinstance(node, Block):
            return self._push_into_select(node, terms)
        return []

    # SELECT

    def _push_into_select(self, block: Block, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        below: list[tuple[Node, list[Term]]] = [(sub, []) for sub in block.subplans]
        if block.source is None:
            return below
        passed = self._pushed_through_select(block, terms)
        below.append((block.source, _usable([*passed, *self._where_conditions(block)])))
        return below

    def _pushed_through_select(self, block: Block, terms: list[Term]) -> list[Term]:
        """The conditions on the SELECT's rows, with HAVING, that its source's rows must satisfy."""
        select = block.select
        having = select.args.get("having")
        if having is not None and not uses_aliases(having, select):
            terms = [*terms, *conjuncts(self._resolver.term(having.this, block.scope))]
        if not terms or any(select.args.get(name) for name in ("limit", "offset", "qualify")):
            # HAVING comes before LIMIT and might be pushed; the comparisons do not need that.
            return []
        partitions = self._window_keys(block)
        if partitions is not None:
            terms = [term for term in terms if _uses_only(term, partitions)]
        keys = self._group_keys(block)
        if keys is not None:
            terms = [term for term in terms if _uses_only(term, keys)]
        return terms

    def _window_keys(self, block: Block) -> frozenset[ScanColumn] | None:
        """The columns by which every window is partitioned; None without windows."""
        windows = [
            window for each in block.select.expressions for window in each.find_all(exp.Window)
        ]
        if not windows:
            return None
        keys: frozenset[ScanColumn] | None = None
        for window in windows:
            parts = window.args.get("partition_by") or ()
            if window.args.get("alias") is not None:
                parts = ()
            own = frozenset(
                term
                for part in parts
                if isinstance(term := self._resolver.term(part, block.scope), ScanColumn)
            )
            keys = own if keys is None else keys & own
        return keys

    def _group_keys(self, block: Block) -> frozenset[ScanColumn] | None:
        """The columns with a single value in each group; None without grouping."""
        group = block.select.args.get("group")
        if group is None:
            aggregated = any(
                aggregates(each) for each in block.select.expressions
            ) or block.select.args.get("having")
            return frozenset() if aggregated else None
        if any(group.args.get(name) for name in ("grouping_sets", "cube", "rollup", "totals")):
            return frozenset()
        keys = []
        for each in group.expressions:
            tree = each
            if isinstance(each, exp.Literal) and not each.is_string:
                tree = nth_output(block.select.expressions, str(each.this))
            term = self._resolver.term(tree, block.scope) if tree is not None else ANYTHING
            if term == ANYTHING and isinstance(each, exp.Column):
                term = self._resolver.output(block, each.name.lower()) or ANYTHING
            keys.append(term)
        return frozenset(key for key in keys if isinstance(key, ScanColumn))

    def _where_conditions(self, block: Block) -> list[Term]:
        """The conditions of WHERE, without those that name columns of an outer query: Spark turns
        these into conditions of a join, and pushes no part of them into the sub-query."""
        key = block.rid
        if key not in self._where_by_block:
            where = block.select.args.get("where")
            term = TRUE if where is None else self._resolver.term(where.this, block.scope)
            own = frozenset() if block.source is None else self.rids(block.source)
            self._where_by_block[key] = [
                each for each in conjuncts(term) if each is not TRUE and rids_of(each) <= own
            ]
        return self._where_by_block[key]

    # Set operations

    def _push_into_branches(self, node: SetOp, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        if node.barrier:
            terms = []
        if len(node.branches) == 1:
            return [(node.branches[0], terms)]
        terms = [term for term in terms if not self._mixes_types(node, term)]
        pushed = node.branches[:1] if node.pushes_left_only else node.branches
        rest: list[tuple[Node, list[Term]]] = [(each, []) for each in node.branches[len(pushed) :]]
        return [(each, self._in_branch_columns(node.rid, each, terms)) for each in pushed] + rest

    def _mixes_types(self, node: SetOp, term: Term) -> bool:
        """Whether the branches have a column of the condition in different types, which Spark
        converts."""
        for column in columns_of(term):
            if column.rid == node.rid:
                at = int(column.name)
                kinds = {kind_of(self._resolver.output_at(each, at)) for each in node.branches}
                if len(kinds - {"", "null"}) > 1:
                    return True
        return False

    def _in_branch_columns(self, rid: int, branch: Node, terms: list[Term]) -> list[Term]:
        def own(column: ScanColumn) -> Term:
            if column.rid != rid:
                return column
            return self._resolver.output_at(branch, int(column.name))

        return [part for term in terms for part in conjuncts(replace_columns(term, own))]

    # Joins

    def _push_into_sides(self, join: Join, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        kind = self._effective_kind(join, terms)
        left, right = self.rids(join.left), self.rids(join.right)
        on = [] if join.of_condition else self._on_conditions(join)
        if kind is JoinKind.INNER or kind is JoinKind.SEMI:
            to_left = to_right = [*terms, *on]
        elif kind in (JoinKind.LEFT, JoinKind.ANTI):
            to_left, to_right = terms, on
        elif kind is JoinKind.RIGHT:
            to_left, to_right = on, terms
        else:
            to_left = to_right = []
        constants = [term for term in terms if not rids_of(term)]
        if not join.of_condition:
            left_premises, right_premises = self._premises(join, terms, on)
            to_left = [*to_left, *inferred(left_premises, left)]
            to_right = [*to_right, *inferred(right_premises, right)]
        return [
            (join.left, relevant_to(_usable([*constants, *to_left]), left)),
            (join.right, relevant_to(_usable([*constants, *to_right]), right)),
        ]

    def _premises(
        self, join: Join, terms: list[Term], on: list[Term]
    ) -> tuple[list[Term], list[Term]]:
        """The conditions from which those on the left side and those on the right are inferred.

        The join's kind follows from written conditions alone: Spark infers before it turns outer
        joins into inner ones.
        """
        terms = [term for term in terms if not is_inferred(term)]
        kind = self._effective_kind(join, terms)
        if self._pruning is Pruning.PUSHED:
            return (on, on) if kind is JoinKind.INNER else ([], [])
        below = [*on, *self.constraints(join.left), *self.constraints(join.right)]
        if kind is JoinKind.INNER or kind is JoinKind.SEMI:
            return [*terms, *below], [*terms, *below]
        # A row of the padded side matters only beside a kept row of the other side.
        if kind in (JoinKind.LEFT, JoinKind.ANTI):
            return [], [*on_columns_of(terms, self.rids(join.left)), *below]
        if kind is JoinKind.RIGHT:
            return [*on_columns_of(terms, self.rids(join.right)), *below], []
        return [], []

    def _effective_kind(self, join: Join, terms: Sequence[Term]) -> JoinKind:
        """The join's kind: a narrower one if the conditions reject rows padded with NULL."""
        kind = join.kind
        if kind not in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
            return kind
        needs_right = kind is not JoinKind.RIGHT and rejects_nulls(terms, self.rids(join.right))
        needs_left = kind is not JoinKind.LEFT and rejects_nulls(terms, self.rids(join.left))
        if kind is JoinKind.LEFT:
            return JoinKind.INNER if needs_right else kind
        if kind is JoinKind.RIGHT:
            return JoinKind.INNER if needs_left else kind
        if needs_left and needs_right:
            return JoinKind.INNER
        # If every row has a left part, a FULL join is a LEFT one.
        return JoinKind.LEFT if needs_left else (JoinKind.RIGHT if needs_right else kind)

    def _on_conditions(self, join: Join) -> list[Term]:
        found = [] if join.on is None else list(conjuncts(self._resolver.term(join.on, join.scope)))
        for at, member in enumerate(join.members):
            member_term = self._resolver.term(member, join.scope)
            found.append(operation("=", member_term, self._resolver.output_at(join.right, at)))
        for name in join.using:
            left = self._resolver.output(join.left, name)
            right = self._resolver.output(join.right, name)
            if left is not None and right is not None:
                found.append(operation("=", left, right))
        return found

    # Constraints

    def constraints(self, node: Node) -> list[Term]:
        """The conditions that every row of the node satisfies, written in columns of the scans and
        set operations below it."""
        key = id(node)
        if key not in self._constraints_of:
            self._constraints_of[key] = []
            self._constraints_of[key] = _usable(self._constraints(node))
        return self._constraints_of[key]

    def _constraints(self, node: Node) -> list[Term]:
        if isinstance(node, Lateral | Renamed):
            return self.constraints(node.source)
        if isinstance(node, Block):
            if node.source is None:
                return []
            below = [*self.constraints(node.source), *self._where_conditions(node)]
            keys = self._group_keys(node)
            return below if keys is None else [term for term in below if _uses_only(term, keys)]
        if isinstance(node, Join):
            return self._join_constraints(node)
        if isinstance(node, SetOp):
            return self._set_constraints(node)
        return []

    def _join_constraints(self, join: Join) -> list[Term]:
        lefts, rights = self.constraints(join.left), self.constraints(join.right)
        if join.of_condition:
            return lefts
        if join.kind in (JoinKind.INNER, JoinKind.SEMI):
            return [*lefts, *rights, *self._on_conditions(join)]
        if join.kind in (JoinKind.LEFT, JoinKind.ANTI):
            return lefts
        return rights if join.kind is JoinKind.RIGHT else []

    def _set_constraints(self, node: SetOp) -> list[Term]:
        if len(node.branches) == 1:
            return self.constraints(node.branches[0])
        if len(node.branches) > 64:
            return []
        by_branch = [
            [
                each
                for each in self._constraints_on_outputs(node.rid, branch)
                if not self._mixes_types(node, each)
            ]
            for branch in (node.branches[:1] if node.keeps_left_only else node.branches)
        ]
        # As in Spark: the conditions that every branch has, and no disjunction of several.
        first, *others = by_branch
        return [term for term in first if all(term in each for each in others)]

    def _constraints_on_outputs(self, rid: int, branch: Node) -> list[Term]:
        """A branch's constraints, written in the columns of the set operation."""
        names = self._resolver.columns(branch)
        if names is None:
            return []
        back: dict[ScanColumn, ScanColumn] = {}
        for at in range(len(names)):
            term = self._resolver.output_at(branch, at)
            if isinstance(term, ScanColumn):
                back.setdefault(term, ScanColumn(rid, str(at), term.type))
        found = []
        for term in self.constraints(branch):
            own = list(columns_of(term))
            if own and all(column in back for column in own):
                found.append(replace_columns(term, lambda column: back[column]))
        return found

    def rids(self, node: Node) -> frozenset[int]:
        """The rids of the relations that the columns of the node's rows belong to."""
        key = id(node)
        if key not in self._rids_of:
            if isinstance(node, Scan | Leaf):
                own = frozenset({node.rid})
            elif isinstance(node, Join):
                own = self.rids(node.left)
                if node.kind not in (JoinKind.SEMI, JoinKind.ANTI):
                    own = own | self.rids(node.right)
            elif isinstance(node, SetOp) and len(node.branches) > 1:
                own = frozenset({node.rid})
            elif isinstance(node, SetOp):
                own = self.rids(node.branches[0])
            elif isinstance(node, Block):
                own = frozenset() if node.source is None else self.rids(node.source)
            else:
                own = self.rids(node.source)
            self._rids_of[key] = own
        return self._rids_of[key]


def _usable(terms: Iterable[Term]) -> list[Term]:
    """The first MAX_CONDITIONS terms, without repetitions and without ANYTHING."""
    return list(dict.fromkeys(term for term in terms if term != ANYTHING))[:MAX_CONDITIONS]


def _uses_only(term: Term, keys: frozenset[ScanColumn]) -> bool:
    """Whether the condition has columns, and no others than `keys`."""
    own = list(columns_of(term))
    return bool(own) and all(column in keys for column in own) and _is_fully_known(term)


def _is_fully_known(term: Term) -> bool:
    """Whether no part of the term is ANYTHING, which might be an aggregate."""
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if each == ANYTHING:
            return False
        if isinstance(each, Operation):
            waiting.extend(each.args)
    return True
