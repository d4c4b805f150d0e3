"""Matches names with the patterns of rules, and indexes the rules by the tables they concern."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from conf.access.rules import Rule
from conf.names import TableRef

_Match = Callable[[str], object]


def is_named(patterns: tuple[str, ...], name: str) -> bool:
    """Whether a pattern matches the name; `*` stands for any characters."""
    if not patterns:
        return False
    return name in patterns or any("*" in each and _regular(each)(name) for each in patterns)


@lru_cache(10_000)
def _regular(pattern: str) -> _Match:
    return re.compile(_expression(pattern), re.DOTALL).fullmatch


def _expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", ".*")


@dataclass(slots=True)
class _Names:
    """The numbers of rules by name and by pattern. `_any` matches a name that any pattern
    matches."""

    exact: dict[str, list[int]] = field(default_factory=dict)
    patterns: list[tuple[str, int]] = field(default_factory=list)
    _any: _Match | None = None

    def add(self, pattern: str, number: int) -> None:
        if "*" in pattern:
            self.patterns.append((pattern, number))
        else:
            self.exact.setdefault(pattern, []).append(number)

    def of(self, name: str) -> Iterable[int]:
        yield from self.exact.get(name, ())
        if not self.patterns:
            return
        if self._any is None:
            found = "|".join({_expression(each) for each, _ in self.patterns})
            self._any = re.compile(found, re.DOTALL).fullmatch
        if self._any(name):
            yield from (number for each, number in self.patterns if _regular(each)(name))


@dataclass(slots=True)
class RuleIndex:
    """The rules about databases and tables."""

    rules: Sequence[Rule]
    _databases: _Names = field(default_factory=_Names)
    _tables: _Names = field(default_factory=_Names)

    def __post_init__(self) -> None:
        for number, rule in enumerate(self.rules):
            for each in rule.objects.databases:
                self._databases.add(each, number)
            for each in rule.objects.tables:
                database, _, name = each.partition(".")
                if name == "*":
                    self._databases.add(database, number)
                else:
                    self._tables.add(each, number)

    def of(self, table: TableRef) -> list[Rule]:
        """The rules that concern the table, in their order."""
        numbers = {*self._databases.of(table.db), *self._tables.of(str(table))}
        return [self.rules[number] for number in sorted(numbers)]
