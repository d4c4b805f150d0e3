"""Decides what a user may do with an object: the first rule that concerns both decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conf.access.quotas import UserQuota
from conf.access.rules import EVERY_RIGHT, AccessRules, Right, Rule
from conf.names import TableRef
from conf.settings.names import canonical_name
from router.access.patterns import RuleIndex, is_named

# Functions that run any code on the cluster's class path.
REFLECTING = frozenset(("reflect", "reflect2", "java_method", "try_reflect"))
_MAX_CACHED = 10_000  # users, and tables of one user
_GLOB = re.compile(r"[*?\[\]{}\\%]")


@dataclass(frozen=True, slots=True)
class Denial:
    """An object that the user may not use. `rule` is None if the use needs a rule that allows it,
    and there is none."""

    what: str
    rule: Rule | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The rules for a right on a table: `rule` denies the whole table, `rows` filters its rows, and
    `columns` has the rules that deny or mask a column."""

    rule: Rule | None = None
    rows: Rule | None = None
    columns: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def parts(self) -> list[Rule]:
        """The rules that allow only a part of the table."""
        rows = [] if self.rows is None else [self.rows]
        return rows + list(self.columns.values())


@dataclass(slots=True)
class UserAccess:
    """The rules that concern one user, at least one of which denies something."""

    user: str
    rules: Sequence[Rule]
    _readings: dict[tuple[TableRef, Right], Reading] = field(default_factory=dict)
    _index: RuleIndex | None = None

    # Tables and databases

    def table(self, ref: TableRef, right: Right) -> Reading:
        """The rules for a right on the table. The result is cached."""
        key = ref, right
        reading = self._readings.get(key)
        if reading is None:
            if len(self._readings) >= _MAX_CACHED:
                self._readings.clear()
            reading = self._readings[key] = self._table(ref, right)
        return reading

    def _table(self, ref: TableRef, right: Right) -> Reading:
        rows: Rule | None = None
        columns: dict[str, Rule] = {}
        if self._index is None:
            self._index = RuleIndex(self.rules)
        for rule in self._index.of(ref):
            if right not in rule.rights:
                continue
            if rule.columns:
                columns = dict.fromkeys(rule.columns, rule) | columns
            elif rule.shows_part:
                rows = rows or rule
            else:
                return Reading(None if rule.effect.gives else rule, rows, columns)
        return Reading(None, rows, columns)

    def database(self, name: str, right: Right) -> Rule | None:
        """The rule that denies a right on the database itself; None if the user has it."""
        for rule in self.rules:
            if rule.shows_part or right not in rule.rights:
                continue
            if is_named(rule.objects.databases, name.lower()):
                return None if rule.effect.gives else rule
        return None

    def sees_table(self, ref: TableRef) -> bool:
        """Whether the user has any right on the table, so that lists show it."""
        return any(self.table(ref, right).rule is None for right in Right)

    def sees_database(self, name: str) -> bool:
        """Whether the user has any right on the database, or may have one on a table in it."""
        name, left = name.lower(), set(EVERY_RIGHT)
        for rule in self.rules:
            objects = rule.objects
            if rule.effect.gives:
                of_tables = tuple(each.partition(".")[0] for each in objects.tables)
                if is_named(objects.databases, name) or is_named(of_tables, name):
                    return True
            elif not rule.shows_part and is_named(objects.databases, name):
                left -= rule.rights
            if not left:
                return False
        return True

    # Other objects

    def path(self, path: str) -> Denial | None:
        """The denial of a path. A user to whom anything is denied needs a rule that allows it."""
        for rule in self.rules:
            if rule.effect.gives and any(_is_below(path, each) for each in rule.objects.paths):
                return None
        return Denial(f"the path {path}", None, "no rule allows it to use this path")

    def function(self, name: str) -> Denial | None:
        """The denial of a function; None if the user may call it. `name` is in lower case, with the
        database of a permanent function or without."""
        what, reflects = f"the function {name}", name in REFLECTING
        unnamed = Denial(what, None, "it runs any code, and no rule allows it")
        return self._named("functions", name, what, unnamed if reflects else None)

    def code(self, kind: str) -> Denial | None:
        what = f"code of the kind {kind!r}"
        return self._named("code", kind, what, Denial(what, None, "no rule allows it"))

    def setting(self, key: str) -> Denial | None:
        return self._named("settings", canonical_name(key), f"the setting {key}")

    def cluster(self, name: str) -> Denial | None:
        return self._named("clusters", name, f"the cluster {name}")

    def _named(
        self, kind: str, name: str, what: str, unnamed: Denial | None = None
    ) -> Denial | None:
        """The denial by the first rule that names the object; None if that rule allows it, and
        `unnamed` if no rule names it."""
        for rule in self.rules:
            if is_named(getattr(rule.objects, kind), name):
                return None if rule.effect.gives else Denial(what, rule)
        return unnamed


@dataclass(slots=True)
class Access:
    """The rules for all users. Results are cached."""

    rules: AccessRules
    _users: dict[str, UserAccess | None] = field(default_factory=dict)
    _quotas: dict[str, UserQuota | None] = field(default_factory=dict)

    def of(self, user: str) -> UserAccess | None:
        """The user's access; None for a user to whom no rule denies anything."""
        if not self.rules.rules:
            return None
        if user not in self._users:
            if len(self._users) >= _MAX_CACHED:
                self._users.clear()
            rules = self.rules.of(user)
            is_free = all(rule.effect.gives for rule in rules)
            self._users[user] = None if is_free else UserAccess(user, rules)
        return self._users[user]

    def quota_of(self, user: str) -> UserQuota | None:
        """The user's quota, or None."""
        if not self.rules.quotas:
            return None
        if user not in self._quotas:
            if len(self._quotas) >= _MAX_CACHED:
                self._quotas.clear()
            self._quotas[user] = self.rules.quota_of(user)
        return self._quotas[user]


def _is_below(path: str, folder: str) -> bool:
    """Whether the path is certainly in the folder. A path with `..` or a pattern is not."""
    if folder == "*":
        return True
    if _GLOB.search(path) or ".." in path.split("/"):
        return False
    return path == folder or path.startswith(folder.rstrip("/") + "/")
