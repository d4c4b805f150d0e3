"""Refuses sessions of blocked users, and statements during maintenance."""

from conf.access.user_names import loose
from proxy.errors import InMaintenance, UserBlocked


class Admission:
    """The blocked users and the maintenance that operators requested since the server's start.

    Names are compared loosely, because a directory may accept several spellings for one user.
    """

    def __init__(self) -> None:
        self.maintenance = ""  # the message to users; empty if there is no maintenance
        self._blocked: dict[str, str] = {}

    @property
    def blocked(self) -> list[str]:
        """The names of the blocked users, as operators wrote them."""
        return sorted(self._blocked.values())

    def block(self, user: str) -> None:
        self._blocked[loose(user)] = user

    def unblock(self, user: str) -> bool:
        """Accepts the user again; returns whether the user was blocked."""
        return self._blocked.pop(loose(user), None) is not None

    def is_blocked(self, *users: str) -> bool:
        return bool(self._blocked) and any(loose(user) in self._blocked for user in users)

    def check_users(self, *users: str) -> None:
        """Called before a session is opened. Raises UserBlocked."""
        if self.is_blocked(*users):
            raise UserBlocked(f"The user {users[0]} is blocked.")

    def check_statement(self) -> None:
        """Called before a statement begins. Raises InMaintenance."""
        if self.maintenance:
            raise InMaintenance(f"No new statements are accepted: {self.maintenance}")
