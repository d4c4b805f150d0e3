"""How much a user may use: statements, rows, bytes and seconds, by user, group and role."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from conf.access.people import People


@dataclass(frozen=True, slots=True)
class UserQuota:
    """`statements` run at the same time; `waiting` more wait for their place for
    `waiting_seconds`, none if that is 0. `statements_a_minute` begin within one; the others are of
    one statement. 0: any number."""

    statements: int = 0
    waiting: int = 0
    waiting_seconds: int = 0
    statements_a_minute: int = 0
    rows: int = 0
    bytes: int = 0
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """Each user whom it concerns has the whole quota."""

    name: str
    who: People
    quota: UserQuota
    unless: People = field(default_factory=People)


def smallest(quotas: Iterable[UserQuota]) -> UserQuota | None:
    """The smallest bound of each kind; None without any."""
    found = list(quotas)
    if not found:
        return None
    names = [each.name for each in fields(UserQuota)]
    bounds = {name: [getattr(each, name) for each in found] for name in names}
    return UserQuota(**{name: min(filter(None, each), default=0) for name, each in bounds.items()})
