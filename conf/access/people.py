"""The people whom a rule concerns, and the groups and roles of a user."""

from dataclasses import dataclass

from conf.access.user_names import loose

ANYONE = "*"


@dataclass(frozen=True, slots=True)
class People:
    """Users by name, by group and by role. The user `*` is anyone."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    @property
    def is_nobody(self) -> bool:
        return not (self.users or self.groups or self.roles)


@dataclass(frozen=True, slots=True)
class Membership:
    """Groups and roles of one user."""

    user: str
    groups: frozenset[str]
    roles: frozenset[str]

    def is_among(self, people: People) -> bool:
        return (
            ANYONE in people.users
            or self.user in people.users
            or not self.groups.isdisjoint(people.groups)
            or not self.roles.isdisjoint(people.roles)
        )


def folded(people: People) -> People:
    """The same people with user names for a loose comparison (`conf.access.user_names.loose`)."""
    return People(frozenset(map(loose, people.users)), people.groups, people.roles)
