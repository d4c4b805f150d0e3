"""Access rules: an ordered list of which the first that concerns an object decides.

What no rule decides is allowed, except that a user to whom any rule denies something may not
name folders or bring code (docs/internals/access.md).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from conf.access.people import ANYONE, Membership, People, folded
from conf.access.quotas import QuotaRule, UserQuota, smallest
from conf.access.user_names import exact, loose


class Effect(Enum):
    """What a rule does. The guard of a cluster carries out MASK and FILTER."""

    ALLOW = "allow"
    DENY = "deny"
    MASK = "mask"
    FILTER = "filter"

    @property
    def gives(self) -> bool:
        return self is Effect.ALLOW


class Right(Enum):
    """What may be done to a table, a view or a database."""

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
    """Patterns of names, in which `*` stands for any characters. `tables` are `database.table`;
    `databases` are these with all their tables; `paths` are folders with all that is below;
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
    """`rights` are for databases and tables. With `columns` the rule concerns the reading of these
    columns alone. `expression` is what a mask shows, with `{col}` for the column, or a filter's
    condition on rows; a mask or filter without one denies. `because` is shown to users."""

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
        """Whether tables may be read, in part."""
        return bool(self.columns) or (self.effect is Effect.FILTER and bool(self.expression))


@dataclass(frozen=True, slots=True)
class AccessRules:
    """`groups` have users by group, `roles` have people by role. `ignored` says what of Ranger's
    policies was not understood, so that more is denied."""

    rules: tuple[Rule, ...] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Mapping[str, People] = field(default_factory=dict)
    quotas: tuple[QuotaRule, ...] = ()
    ignored: tuple[str, ...] = ()

    def of(self, user: str) -> tuple[Rule, ...]:
        """The rules that concern the user, in their order.

        A rule that takes away concerns all whose name is alike; one that gives, the user of
        exactly that name. Exceptions are the other way round.
        """
        sure, possible = self._membership(user, exact), self._membership(user, loose)
        found = []
        for rule in self.rules:
            strict = rule.effect.gives
            who = sure.is_among(rule.who) if strict else possible.is_among(folded(rule.who))
            if not who:
                continue
            out = possible.is_among(folded(rule.unless)) if strict else sure.is_among(rule.unless)
            if not out:
                found.append(rule)
        return tuple(found)

    def quota_of(self, user: str) -> UserQuota | None:
        """The smallest bounds of all quotas that concern the user; None without any."""
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
