"""Access rules: an ordered list. The first rule that concerns an object decides.

An action that no rule decides is allowed. But a user to whom any rule denies something may not name
folders or bring code (docs/internals/access.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from conf.access.people import ANYONE, Membership, People, folded
from conf.access.quotas import QuotaRule, UserQuota, smallest
from conf.access.user_names import exact, loose


class Effect(Enum):
    """The effect of a rule. The guard of a cluster carries out MASK and FILTER."""

    ALLOW = "allow"
    DENY = "deny"
    MASK = "mask"
    FILTER = "filter"

    @property
    def gives(self) -> bool:
        """Whether the rule gives a right; every other rule takes one away."""
        return self is Effect.ALLOW


class Right(Enum):
    """An action on a table, a view or a database."""

    SELECT = "select"
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    CREATE = "create"
    DROP = "drop"
    ALTER = "alter"


EVERY_RIGHT = frozenset(Right)


@dataclass(frozen=True, slots=True)
class Objects:
    """Patterns of names, in which `*` stands for any characters. `databases` are databases with all
    their tables, `tables` are `database.table`, `paths` are folders with everything below, and
    `code` are values of `proxy.denied.statements`."""

    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `rights` are for databases and tables. With `columns` the rule concerns only the
    reading of these columns. `expression` is the value that a mask shows, with `{col}` for the
    column, or a filter's condition on rows; a mask or filter without one denies. `because` is the
    reason that users are shown."""

    name: str
    effect: Effect
    who: People
    objects: Objects
    rights: frozenset[Right] = EVERY_RIGHT
    columns: tuple[str, ...] = ()
    unless: People = field(default_factory=People)
    because: str = ""
    expression: str = ""

    @property
    def shows_part(self) -> bool:
        """Whether the rule leaves a part of a table readable."""
        return bool(self.columns) or (self.effect is Effect.FILTER and bool(self.expression))


@dataclass(frozen=True, slots=True)
class AccessRules:
    """All rules. `groups` has the users of each group, `roles` the people of each role. `ignored`
    are sentences about parts of Ranger's policies that were not understood, so that more is denied.
    """

    rules: tuple[Rule, ...] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Mapping[str, People] = field(default_factory=dict)
    quotas: tuple[QuotaRule, ...] = ()
    ignored: tuple[str, ...] = ()

    def of(self, user: str) -> tuple[Rule, ...]:
        """The rules that concern the user, in their order.

        A rule that takes a right away concerns every user whose name is alike, a rule that gives
        one only the user of exactly that name. Exceptions are compared the other way round.
        """
        sure, possible = self._membership(user, exact), self._membership(user, loose)
        rules = []
        for rule in self.rules:
            strict = rule.effect.gives
            who = sure.is_among(rule.who) if strict else possible.is_among(folded(rule.who))
            if not who:
                continue
            out = possible.is_among(folded(rule.unless)) if strict else sure.is_among(rule.unless)
            if not out:
                rules.append(rule)
        return tuple(rules)

    def quota_of(self, user: str) -> UserQuota | None:
        """The smallest bounds of all quotas that concern the user; None if no quota does."""
        sure, possible = self._membership(user, exact), self._membership(user, loose)
        return smallest(
            each.quota
            for each in self.quotas
            if possible.is_among(folded(each.who)) and not sure.is_among(each.unless)
        )

    def _membership(self, user: str, key: Callable[[str], str]) -> Membership:
        name = key(user)
        groups = frozenset(
            group
            for group, users in self.groups.items()
            if ANYONE in users or name in {key(each) for each in users}
        )
        roles = set()
        for role, people in self.roles.items():
            users = {key(each) for each in people.users}
            if ANYONE in people.users or name in users or not groups.isdisjoint(people.groups):
                roles.add(role)
        return Membership(name, groups, frozenset(roles))
