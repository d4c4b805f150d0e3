"""Whose sessions and which statements the server accepts: blocked users and maintenance."""

from conf.access.user_names import loose
from proxy.errors import InMaintenance, UserBlocked


class Admission:
    """What operators forbade since the start of the server. Names are compared loosely, because a
    directory may take other spellings for the same user."""

    def __init__(self) -> None:
        self.maintenance = ""  # the message to users; empty: there is none
        self._blocked: dict[str, str] = {}

    @property
    def blocked(self) -> list[str]:
        """The names, as operators wrote them."""
        return sorted(self._blocked.values())

    def block(self, user: str) -> None:
        self._blocked[loose(user)] = user

    def unblock(self, user: str) -> bool:
        """Whether the user was blocked."""
        return self._blocked.pop(loose(user), None) is not None

    def is_blocked(self, *users: str) -> bool:
        return bool(self._blocked) and any(loose(user) in self._blocked for user in users)

    def check_users(self, *users: str) -> None:
        """Before a session is opened. Raises UserBlocked."""
        if self.is_blocked(*users):
            raise UserBlocked(f"The user {users[0]} is blocked.")

    def check_statement(self) -> None:
        """Before a statement begins. Raises InMaintenance."""
        if self.maintenance:
            raise InMaintenance(f"No new statements are accepted: {self.maintenance}")
