"""Which conditions every needed row of a scan satisfies: pushed down, and inferred over joins.

`Pruner.conditions` walks a plan from its top with the conditions on each node's rows. A node
hands on to its sources what may be decided there: a LIMIT or a window lets nothing through, a
GROUP BY only conditions on its keys, an outer join only those of the proper side.
"""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from dialect.lineage.clauses import aggregates, nth_output, uses_aliases
from dialect.lineage.plan import Block, Join, JoinKind, Lateral, Leaf, Node, Renamed, Scan, SetOp
from dialect.lineage.resolve import Resolver
from dialect.parsing.variables import Pruning
from dialect.pruning.evaluate import T, truth
from dialect.pruning.infer import as_written, inferred, is_inferred
from dialect.pruning.terms import (
    ANYTHING,
    TRUE,
    Call,
    Column,
    Term,
    call,
    columns_of,
    conjuncts,
    kind_of,
    replace_columns,
    rids_of,
)
from dialect.pruning.values import MAYBE, Guess
from dialect.work import spend

# Of more conditions on one node only the first ones are kept: more cost time and prune little.
MAX_CONDITIONS = 400


class Pruner:
    """Finds, for every scan of a plan, conditions that its needed rows satisfy."""

    def __init__(self, pruning: Pruning = Pruning.INFERRED) -> None:
        self._pruning = pruning
        self._resolver = Resolver()
        self._pulled: dict[int, list[Term]] = {}
        self._rids: dict[int, frozenset[int]] = {}
        self._wheres: dict[int, list[Term]] = {}
        self.found: dict[int, list[Term]] = {}

    def conditions(self, root: Node) -> None:
        """Fill `found`: by a scan's rid, conditions that may be used on its rows."""
        waiting: list[tuple[Node, list[Term]]] = [(root, [])]
        while waiting:
            node, terms = waiting.pop()
            spend(1 + len(terms))
            if isinstance(node, Scan):
                self.found[node.rid] = [as_written(term) for term in terms]
            else:
                waiting.extend(self._handed_on(node, terms))

    def _handed_on(self, node: Node, terms: list[Term]) -> Iterable[tuple[Node, list[Term]]]:
        if isinstance(node, Lateral | Renamed):
            return [(node.source, terms)]
        if isinstance(node, Join):
            return self._to_sides(node, terms)
        if isinstance(node, SetOp):
            return self._to_branches(node, terms)
        if isinstance(node, Block):
            return self._into_block(node, terms)
        return []

    # SELECT

    def _into_block(self, block: Block, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        below: list[tuple[Node, list[Term]]] = [(sub, []) for sub in block.subplans]
        if block.source is None:
            return below
        passed = self._passed(block, terms)
        below.append((block.source, _some([*passed, *self._where(block)])))
        return below

    def _passed(self, block: Block, terms: list[Term]) -> list[Term]:
        """The conditions on a SELECT's rows that may be asked of its source's rows."""
        select = block.select
        having = select.args.get("having")
        if having is not None and not uses_aliases(having, select):
            terms = [*terms, *conjuncts(self._resolver.term(having.this, block.scope))]
        if not terms or any(select.args.get(name) for name in ("limit", "offset", "qualify")):
            # HAVING itself comes before LIMIT, but no test asks for that sharpness.
            return []
        partitions = self._window_keys(block)
        if partitions is not None:
            terms = [term for term in terms if _within(term, partitions)]
        keys = self._group_keys(block)
        if keys is not None:
            terms = [term for term in terms if _within(term, keys)]
        return terms

    def _window_keys(self, block: Block) -> frozenset[Column] | None:
        """Columns that every window is partitioned by; None without windows."""
        windows = [
            window for each in block.select.expressions for window in each.find_all(exp.Window)
        ]
        if not windows:
            return None
        keys: frozenset[Column] | None = None
        for window in windows:
            parts = window.args.get("partition_by") or ()
            if window.args.get("alias") is not None:
                parts = ()
            own = frozenset(
                term
                for part in parts
                if isinstance(term := self._resolver.term(part, block.scope), Column)
            )
            keys = own if keys is None else keys & own
        return keys

    def _group_keys(self, block: Block) -> frozenset[Column] | None:
        """Columns that every group has one value of; None when there is no grouping."""
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
        return frozenset(key for key in keys if isinstance(key, Column))

    def _where(self, block: Block) -> list[Term]:
        """The conditions of WHERE, without those that name columns of an outer query: Spark makes
        them conditions of a join, and asks no part of them of the sub-query's tables."""
        key = block.rid
        if key not in self._wheres:
            where = block.select.args.get("where")
            term = TRUE if where is None else self._resolver.term(where.this, block.scope)
            own = frozenset() if block.source is None else self.rids(block.source)
            self._wheres[key] = [
                each for each in conjuncts(term) if each is not TRUE and rids_of(each) <= own
            ]
        return self._wheres[key]

    # Set operations

    def _to_branches(self, node: SetOp, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        if node.barrier:
            terms = []
        if len(node.branches) == 1:
            return [(node.branches[0], terms)]
        terms = [term for term in terms if not self._mixes_types(node, term)]
        asked = node.branches[:1] if node.asks_left_only else node.branches
        rest: list[tuple[Node, list[Term]]] = [(each, []) for each in node.branches[len(asked) :]]
        return [(each, self._for_branch(node.rid, each, terms)) for each in asked] + rest

    def _mixes_types(self, node: SetOp, term: Term) -> bool:
        """Whether the branches' columns in the condition are converted to a common type."""
        for column in columns_of(term):
            if column.rid == node.rid:
                at = int(column.name)
                kinds = {kind_of(self._resolver.output_at(each, at)) for each in node.branches}
                if len(kinds - {"", "null"}) > 1:
                    return True
        return False

    def _for_branch(self, rid: int, branch: Node, terms: list[Term]) -> list[Term]:
        def own(column: Column) -> Term:
            if column.rid != rid:
                return column
            return self._resolver.output_at(branch, int(column.name))

        return [part for term in terms for part in conjuncts(replace_columns(term, own))]

    # Joins

    def _to_sides(self, join: Join, terms: list[Term]) -> list[tuple[Node, list[Term]]]:
        kind = self._kind_under(join, terms)
        left, right = self.rids(join.left), self.rids(join.right)
        on = [] if join.of_condition else self._on(join)
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
            learnt_left, learnt_right = self._learnt(join, terms, on)
            to_left = [*to_left, *inferred(learnt_left, left)]
            to_right = [*to_right, *inferred(learnt_right, right)]
        return [
            (join.left, _touching(_some([*constants, *to_left]), left)),
            (join.right, _touching(_some([*constants, *to_right]), right)),
        ]

    def _learnt(
        self, join: Join, terms: list[Term], on: list[Term]
    ) -> tuple[list[Term], list[Term]]:
        """What conditions on the left and on the right may be inferred from. Spark infers before
        it knows what that makes of outer joins."""
        terms = [term for term in terms if not is_inferred(term)]
        kind = self._kind_under(join, terms)
        if self._pruning is Pruning.PUSHED:
            return (on, on) if kind is JoinKind.INNER else ([], [])
        below = [*on, *self.pulled(join.left), *self.pulled(join.right)]
        if kind is JoinKind.INNER or kind is JoinKind.SEMI:
            return [*terms, *below], [*terms, *below]
        # A row of the padded side matters only beside a row of the other side that is kept.
        if kind in (JoinKind.LEFT, JoinKind.ANTI):
            return [], [*_only(terms, self.rids(join.left)), *below]
        if kind is JoinKind.RIGHT:
            return [*_only(terms, self.rids(join.right)), *below], []
        return [], []

    def _kind_under(self, join: Join, terms: Sequence[Term]) -> JoinKind:
        """The join's kind: narrower where the conditions reject rows padded with NULL."""
        kind = join.kind
        if kind not in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
            return kind
        needs_right = kind is not JoinKind.RIGHT and _rejects_nulls(terms, self.rids(join.right))
        needs_left = kind is not JoinKind.LEFT and _rejects_nulls(terms, self.rids(join.left))
        if kind is JoinKind.LEFT:
            return JoinKind.INNER if needs_right else kind
        if kind is JoinKind.RIGHT:
            return JoinKind.INNER if needs_left else kind
        if needs_left and needs_right:
            return JoinKind.INNER
        # Without padded left rows every row has a left one: a LEFT join.
        return JoinKind.LEFT if needs_left else (JoinKind.RIGHT if needs_right else kind)

    def _on(self, join: Join) -> list[Term]:
        found = [] if join.on is None else list(conjuncts(self._resolver.term(join.on, join.scope)))
        for at, member in enumerate(join.members):
            member_term = self._resolver.term(member, join.scope)
            found.append(call("=", member_term, self._resolver.output_at(join.right, at)))
        for name in join.using:
            left = self._resolver.output(join.left, name)
            right = self._resolver.output(join.right, name)
            if left is not None and right is not None:
                found.append(call("=", left, right))
        return found

    # What holds of a node's rows

    def pulled(self, node: Node) -> list[Term]:
        """Conditions that every row of the node satisfies, on the columns below it."""
        key = id(node)
        if key not in self._pulled:
            self._pulled[key] = []
            self._pulled[key] = _some(self._pull(node))
        return self._pulled[key]

    def _pull(self, node: Node) -> list[Term]:
        if isinstance(node, Lateral | Renamed):
            return self.pulled(node.source)
        if isinstance(node, Block):
            if node.source is None:
                return []
            below = [*self.pulled(node.source), *self._where(node)]
            keys = self._group_keys(node)
            return below if keys is None else [term for term in below if _within(term, keys)]
        if isinstance(node, Join):
            return self._pull_join(node)
        if isinstance(node, SetOp):
            return self._pull_set(node)
        return []

    def _pull_join(self, join: Join) -> list[Term]:
        lefts, rights = self.pulled(join.left), self.pulled(join.right)
        if join.of_condition:
            return lefts
        if join.kind in (JoinKind.INNER, JoinKind.SEMI):
            return [*lefts, *rights, *self._on(join)]
        if join.kind in (JoinKind.LEFT, JoinKind.ANTI):
            return lefts
        return rights if join.kind is JoinKind.RIGHT else []

    def _pull_set(self, node: SetOp) -> list[Term]:
        if len(node.branches) == 1:
            return self.pulled(node.branches[0])
        if len(node.branches) > 64:
            return []
        by_branch = [
            [
                each
                for each in self._on_outputs(node.rid, branch)
                if not self._mixes_types(node, each)
            ]
            for branch in (node.branches[:1] if node.keeps_left_only else node.branches)
        ]
        # As Spark: the conditions that every branch has, and no disjunction of several.
        first, *others = by_branch
        return [term for term in first if all(term in each for each in others)]

    def _on_outputs(self, rid: int, branch: Node) -> list[Term]:
        """A branch's conditions, in the columns of the set operation."""
        names = self._resolver.columns(branch)
        if names is None:
            return []
        back: dict[Column, Column] = {}
        for at in range(len(names)):
            term = self._resolver.output_at(branch, at)
            if isinstance(term, Column):
                back.setdefault(term, Column(rid, str(at), term.type))
        found = []
        for term in self.pulled(branch):
            own = list(columns_of(term))
            if own and all(column in back for column in own):
                found.append(replace_columns(term, lambda column: back[column]))
        return found

    def rids(self, node: Node) -> frozenset[int]:
        """The ids of the scans that the columns of the node's rows come from."""
        key = id(node)
        if key not in self._rids:
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
            self._rids[key] = own
        return self._rids[key]


def _some(terms: Iterable[Term]) -> list[Term]:
    """The terms without repetitions and without ANYTHING, at most MAX_CONDITIONS."""
    return list(dict.fromkeys(term for term in terms if term != ANYTHING))[:MAX_CONDITIONS]


def _touching(terms: Iterable[Term], rids: frozenset[int]) -> list[Term]:
    """The conditions on columns of these scans, and the constant ones."""
    return [term for term in terms if not (own := rids_of(term)) or own & rids]


def _only(terms: Iterable[Term], rids: frozenset[int]) -> list[Term]:
    return [term for term in terms if rids_of(term) <= rids]


def _within(term: Term, keys: frozenset[Column]) -> bool:
    """Whether a condition is about these columns alone."""
    own = list(columns_of(term))
    return bool(own) and all(column in keys for column in own) and _plain(term)


def _plain(term: Term) -> bool:
    """Whether no part of the term is unknown: it might be an aggregate."""
    waiting = [term]
    while waiting:
        each = waiting.pop()
        if each == ANYTHING:
            return False
        if isinstance(each, Call):
            waiting.extend(each.args)
    return True


def _rejects_nulls(terms: Iterable[Term], rids: frozenset[int]) -> bool:
    """Whether a condition on these scans alone rejects each row in which all their columns are
    NULL. Spark looks at no others."""

    def bind(column: Column) -> Guess:
        return None if column.rid in rids else MAYBE

    return any(
        (own := rids_of(term)) and own <= rids and not truth(term, bind) & T for term in terms
    )
