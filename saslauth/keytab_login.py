"""Tickets from a keytab, renewed before they expire.

A log-in is renewed at the first use after half of its lifetime. While the KDC does not answer, the
tickets are used for as long as they live, and later uses try again. libkrb5 empties a cache of
tickets before it fills it, when another thread may need it; so two caches in memory take turns.
"""

import threading
from functools import cache
from time import monotonic
from typing import Any

from conf.errors import BadSetting
from conf.secrets import SecretFile
from saslauth.errors import SaslFailed
from saslauth.gssapi_library import library, own_name

_RETRY = 5.0  # seconds between tries while the KDC does not answer


class KeytabLogin:
    """The log-in of one principal. Callable by several threads."""

    def __init__(self, principal: str, keytab: SecretFile) -> None:
        self._principal = principal
        self._keytab = keytab
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._problem = ""  # why there are no credentials
        self._renew_at = 0.0
        self._turn = 0  # the cache that is in use

    def credentials(self) -> Any:
        """Credentials with a living ticket. May wait for a KDC. Raises SaslFailed."""
        with self._lock:
            try:
                self._keytab.check()
            except OSError as error:
                raise SaslFailed(f"{self._keytab}: {error.strerror}") from None
            if monotonic() >= self._renew_at:
                self._renew()
            if self._credentials is None:
                raise SaslFailed(self._problem)
            return self._credentials

    def _renew(self) -> None:
        try:
            self._credentials = self._log_in()
            self._renew_at = monotonic() + self._credentials.lifetime / 2
        except library().exceptions.GSSError as error:
            self._renew_at = monotonic() + _RETRY
            self._problem = f"no ticket for {self._principal}: {' '.join(str(error).split())}"
            if not self._lives():
                self._credentials = None

    def _log_in(self) -> Any:
        """Credentials of a new log-in. They do not know the keytab: libkrb5 would renew them in the
        cache that is in use."""
        gssapi = library()
        name = gssapi.Name(own_name(self._principal), gssapi.NameType.kerberos_principal)
        turn = 1 - self._turn
        store = {"ccache": f"MEMORY:causeway:{id(self)}:{turn}"}
        with_keys = {**store, "client_keytab": f"FILE:{self._keytab}"}
        # The lifetime is known only when the KDC was asked.
        _ = gssapi.Credentials(name=name, usage="initiate", store=with_keys).lifetime
        credentials = gssapi.Credentials(name=name, usage="initiate", store=store)
        _ = credentials.lifetime
        self._turn = turn
        return credentials

    def _lives(self) -> bool:
        try:
            return self._credentials is not None and bool(self._credentials.lifetime)
        except library().exceptions.GSSError:  # it has expired
            return False


@cache
def keytab_login(principal: str, keytab: SecretFile) -> KeytabLogin:
    """The log-in of the principal, which this process has once."""
    return KeytabLogin(principal, keytab)


def check_keytab(principal: str, keytab: SecretFile) -> None:
    """Raises BadSetting if the library is missing or the file cannot be used."""
    library()
    try:
        keytab.check()
    except OSError as error:
        raise BadSetting(f"{keytab} ({principal}): {error.strerror}.") from None
