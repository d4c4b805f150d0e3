"""Files with secrets (passwords, tokens, keys): read only if no other user can read them.

The file belongs either to the user that Causeway runs as, and no other user has any right to it, or
to root, which may let Causeway's group read it. On container platforms all users can often read
secrets: `proxy.secret.files = shared` accepts such files.
"""

import errno
import os
import stat
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_FILES = "proxy.secret.files"
_OURS, _ROOTS = 0o077, 0o037  # the forbidden mode bits of a file of Causeway's user, and of root


class Sharing(Enum):
    """`proxy.secret.files`: whether other users may read files with secrets."""

    PRIVATE = "private"
    SHARED = "shared"


class ExposedSecret(PermissionError):
    """Other users can read or change a file with a secret. The message has the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.EACCES, f"not used, since {reason}", str(path))


@dataclass(frozen=True, slots=True)
class SecretFile:
    """The path of a file with a secret. `shared`: other users may read it."""

    path: Path
    shared: bool = False

    def check(self) -> os.stat_result:
        """The file's status. Raises ExposedSecret, OSError."""
        status = os.stat(self.path)
        self._check(status)
        return status

    def read_bytes(self) -> bytes:
        """The file's content. Raises ExposedSecret, OSError."""
        with self.path.open("rb") as file:
            self._check(os.fstat(file.fileno()))
            return file.read()

    def read_text(self) -> str:
        """The file's text. Raises ExposedSecret, OSError, UnicodeDecodeError."""
        return self.read_bytes().decode("utf-8")

    def _check(self, status: os.stat_result) -> None:
        if self.shared:
            return
        reason = exposure(status.st_uid, stat.S_IMODE(status.st_mode), os.geteuid())
        if reason:
            raise ExposedSecret(self.path, f"{reason} ({_FILES} = shared allows it)")

    def __str__(self) -> str:
        return str(self.path)


def exposure(owner: int, mode: int, user: int) -> str:
    """The reason why a file with that owner and mode is not private to `user`; empty if it is."""
    if owner == user:
        return f"others can use it (mode {mode:04o}): chmod 600" if mode & _OURS else ""
    if owner == 0:
        return f"others can use it (mode {mode:04o}): chmod 640" if mode & _ROOTS else ""
    return f"it belongs to user {owner}, and Causeway runs as user {user}"
