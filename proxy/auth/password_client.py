"""Those who know passwords beside a directory: a file of hashes, and the operator's own code."""

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from conf.errors import BadSetting
from conf.secrets import SecretFile
from proxy.auth.errors import Unsure, Wrong
from proxy.auth.password_file import NOBODY, Hashed, read
from proxy.auth.throttled_authenticator import Found
from proxy.auth.user_names import said_name, short_name

_LARGEST = 16 << 20  # bytes of a file
_AT_ONCE = 2  # passwords under check: each takes a core, and 32 MB or more, for a moment


class AnyPassword:
    """NONE beside another method."""

    def check(self, user: str, password: str, found: Found | None = None) -> str:
        return user


class PasswordFile:
    """Read again when it was changed; while it cannot be read, nobody comes in."""

    def __init__(self, file: SecretFile) -> None:
        """Raises BadSetting when it is no such file, or others can read it."""
        self._file = file
        self._lock = threading.Lock()
        self._checking = threading.BoundedSemaphore(_AT_ONCE)
        self._seen: tuple[int, ...] | None = None
        self._hashed: Mapping[str, Hashed] = {}
        try:
            self._current()
        except Unsure as error:
            raise BadSetting(str(error)) from error

    def check(self, user: str, password: str, found: Found | None = None) -> str:
        name = said_name(user)
        hashed = self._current().get(name)
        with self._checking:
            good = (hashed or NOBODY).matches(password)
        if not good or hashed is None:
            raise Wrong("wrong password, or nobody of that name")
        return short_name(name)

    def _current(self) -> Mapping[str, Hashed]:
        with self._lock:
            try:
                found = self._file.check()
                seen = (found.st_mtime_ns, found.st_size, found.st_ino)
                if seen != self._seen:
                    if found.st_size > _LARGEST:
                        raise ValueError("it is too large")
                    self._hashed = read(self._file.read_text())
                    self._seen = seen
            except (OSError, ValueError) as error:
                self._seen = None
                why = error.strerror if isinstance(error, OSError) else error
                if isinstance(error, UnicodeDecodeError):
                    why = "not UTF-8 text"  # the error itself has the bytes
                raise Unsure(f"{self._file}: {why}") from None
            return self._hashed


class Custom:
    """A callable of the operator's: given user and password, True or the user's name lets in."""

    def __init__(self, where: str) -> None:
        """`where` is module:name. Raises BadSetting."""
        module, _, name = where.partition(":")
        try:
            found: Any = getattr(importlib.import_module(module), name)
        except Exception as error:
            raise BadSetting(f"{where} cannot be imported: {error!r}.") from error
        if not callable(found):
            raise BadSetting(f"{where} is nothing that can be called.")
        self._callable: Callable[[str, str], object] = found

    def check(self, user: str, password: str, found: Found | None = None) -> str:
        name = said_name(user)
        try:
            answer = self._callable(name, password)
        except Exception as error:  # its words may have the password in them
            raise Wrong(f"the callable raised {type(error).__name__}") from None
        if answer is True:
            return short_name(name)
        if isinstance(answer, str) and answer:
            return short_name(said_name(answer))
        raise Wrong("the callable says no")
