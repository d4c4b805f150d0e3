"""Files that hold a secret (passwords, tokens, keys): read only while nobody else can read them.

A file belongs to the user that Causeway runs as, and nobody else has any right to it; or it belongs
to root, who may let Causeway's group read it. Container platforms hand out secrets that all may
read: `proxy.secret.files = shared` takes them as well.
"""

import errno
import os
import stat
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_FILES = "proxy.secret.files"
_OURS, _ROOTS = 0o077, 0o037  # forbidden mode bits, by owner


class Sharing(Enum):
    """`proxy.secret.files`: who else may read the files that hold secrets."""

    PRIVATE = "private"
    SHARED = "shared"


class ExposedSecret(PermissionError):
    """Others can read or change a file that holds a secret; the message says how."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(errno.EACCES, f"not used, since {reason}", str(path))


@dataclass(frozen=True, slots=True)
class SecretFile:
    """`shared`: others may read it."""

    path: Path
    shared: bool = False

    def check(self) -> os.stat_result:
        """What the file is like. Raises ExposedSecret, OSError."""
        found = os.stat(self.path)
        self._check(found)
        return found

    def read_bytes(self) -> bytes:
        """Raises ExposedSecret, OSError."""
        with self.path.open("rb") as file:
            self._check(os.fstat(file.fileno()))
            return file.read()

    def read_text(self) -> str:
        """Raises ExposedSecret, OSError, and UnicodeDecodeError for what is not UTF-8."""
        return self.read_bytes().decode("utf-8")

    def _check(self, found: os.stat_result) -> None:
        if self.shared:
            return
        reason = exposure(found.st_uid, stat.S_IMODE(found.st_mode), os.geteuid())
        if reason:
            raise ExposedSecret(self.path, f"{reason} ({_FILES} = shared allows it)")

    def __str__(self) -> str:
        return str(self.path)


def exposure(owner: int, mode: int, user: int) -> str:
    """Why a file of that owner and mode is not private to `user`; empty when it is."""
    if owner == user:
        return f"others can use it (mode {mode:04o}): chmod 600" if mode & _OURS else ""
    if owner == 0:
        return f"others can use it (mode {mode:04o}): chmod 640" if mode & _ROOTS else ""
    return f"it belongs to user {owner}, and Causeway runs as user {user}"
