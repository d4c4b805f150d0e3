"""How much a user may use: statements, rows, bytes and seconds, by user, group and role."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from conf.access.people import People


@dataclass(frozen=True, slots=True)
class UserQuota:
    """Bounds for one user; 0: any number. At most `statements` run at the same time. At most
    `waiting` more wait for at most `waiting_seconds`; 0: none waits. At most `statements_a_minute`
    begin in a minute. `rows`, `bytes` and `seconds` are bounds of one statement."""

    statements: int = 0
    waiting: int = 0
    waiting_seconds: int = 0
    statements_a_minute: int = 0
    rows: int = 0
    bytes: int = 0
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """A quota that each of the people in `who` has for itself, except those in `unless`."""

    name: str
    who: People
    quota: UserQuota
    unless: People = field(default_factory=People)


def smallest(quotas: Iterable[UserQuota]) -> UserQuota | None:
    """The smallest bound of each kind; None without quotas."""
    several = list(quotas)
    if not several:
        return None
    names = [each.name for each in fields(UserQuota)]
    bounds = {name: [getattr(each, name) for each in several] for name in names}
    return UserQuota(**{name: min(filter(None, each), default=0) for name, each in bounds.items()})
