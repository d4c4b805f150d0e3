"""Password back ends beside LDAP: a file of hashes, and the operator's own code."""

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from conf.errors import BadSetting
from conf.secrets import SecretFile
from proxy.auth.passwords.password_file import UNKNOWN_USER, Hashed, read_passwords
from proxy.auth.throttled_authenticator import OnEntry
from proxy.auth.user_names import login_name, short_name
from saslauth.errors import AuthBackendUnavailable, BadCredentials

_MAX_FILE = 16 << 20  # bytes
_MAX_CHECKS = 2  # at the same time: each uses a core and at least 32 MB


class AnyPassword:
    """Accepts every password: authentication NONE beside another method."""

    def check(self, user: str, password: str, on_entry: OnEntry | None = None) -> str:
        return user


class FilePasswords:
    """A password file, read again after each change. While it is unreadable, log-ins fail."""

    def __init__(self, file: SecretFile) -> None:
        """Raises BadSetting if the file is no password file, or other users can read it."""
        self._file = file
        self._lock = threading.Lock()
        self._checks = threading.BoundedSemaphore(_MAX_CHECKS)
        self._version: tuple[int, ...] | None = None
        self._hashed: Mapping[str, Hashed] = {}
        try:
            self._current()
        except AuthBackendUnavailable as error:
            raise BadSetting(str(error)) from error

    def check(self, user: str, password: str, on_entry: OnEntry | None = None) -> str:
        name = login_name(user)
        hashed = self._current().get(name)
        with self._checks:
            matches = (hashed or UNKNOWN_USER).matches(password)
        if not matches or hashed is None:
            raise BadCredentials("wrong password or unknown user")
        return short_name(name)

    def _current(self) -> Mapping[str, Hashed]:
        with self._lock:
            try:
                status = self._file.check()
                version = (status.st_mtime_ns, status.st_size, status.st_ino)
                if version != self._version:
                    if status.st_size > _MAX_FILE:
                        raise ValueError("it is too large")
                    self._hashed = read_passwords(self._file.read_text())
                    self._version = version
            except (OSError, ValueError) as error:
                self._version = None
                reason = error.strerror if isinstance(error, OSError) else error
                if isinstance(error, UnicodeDecodeError):
                    reason = "not UTF-8 text"  # the error's own text contains bytes of the file
                raise AuthBackendUnavailable(f"{self._file}: {reason}") from None
            return self._hashed


class CustomPasswords:
    """Calls the operator's function with user and password; it returns True or the user's name."""

    def __init__(self, reference: str) -> None:
        """`reference` is module:name. Raises BadSetting."""
        module, _, name = reference.partition(":")
        try:
            function: Any = getattr(importlib.import_module(module), name)
        except Exception as error:
            raise BadSetting(f"{reference} cannot be imported: {error!r}.") from error
        if not callable(function):
            raise BadSetting(f"{reference} is not callable.")
        self._function: Callable[[str, str], object] = function

    def check(self, user: str, password: str, on_entry: OnEntry | None = None) -> str:
        name = login_name(user)
        try:
            result = self._function(name, password)
        except Exception as error:  # its text may contain the password
            raise BadCredentials(f"the callable raised {type(error).__name__}") from None
        if result is True:
            return short_name(name)
        if isinstance(result, str) and result:
            return short_name(login_name(result))
        raise BadCredentials("the callable rejected the password")
