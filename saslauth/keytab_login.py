"""Tickets from a keytab, renewed before they expire.

A log-in is renewed at the first use after half of its lifetime. While the KDC does not answer, the
old tickets are used until they expire, and later uses try again. libkrb5 empties a cache of tickets
before it fills it, while another thread may need it; so two caches in memory are used in turns.
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
    """The log-in of one principal. Several threads may use it."""

    def __init__(self, principal: str, keytab: SecretFile) -> None:
        self._principal = principal
        self._keytab = keytab
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._failure = ""  # why there are no credentials
        self._renew_at = 0.0
        self._cache = 0  # the number of the cache in use: 0 or 1

    def credentials(self) -> Any:
        """Credentials with a ticket that has not expired. May wait for a KDC. Raises SaslFailed."""
        with self._lock:
            try:
                self._keytab.check()
            except OSError as error:
                raise SaslFailed(f"{self._keytab}: {error.strerror}") from None
            if monotonic() >= self._renew_at:
                self._renew()
            if self._credentials is None:
                raise SaslFailed(self._failure)
            return self._credentials

    def _renew(self) -> None:
        try:
            self._credentials = self._log_in()
            self._renew_at = monotonic() + self._credentials.lifetime / 2
        except library().exceptions.GSSError as error:
            self._renew_at = monotonic() + _RETRY
            self._failure = f"no ticket for {self._principal}: {' '.join(str(error).split())}"
            if not self._is_valid():
                self._credentials = None

    def _log_in(self) -> Any:
        """Credentials of a new log-in, in the cache that is not in use. They are made without the
        keytab: with it libkrb5 would renew them in their cache while it is in use."""
        gssapi = library()
        name = gssapi.Name(own_name(self._principal), gssapi.NameType.kerberos_principal)
        cache = 1 - self._cache
        store = {"ccache": f"MEMORY:causeway:{id(self)}:{cache}"}
        with_keys = {**store, "client_keytab": f"FILE:{self._keytab}"}
        # Reading the lifetime makes libkrb5 request a ticket from the KDC.
        _ = gssapi.Credentials(name=name, usage="initiate", store=with_keys).lifetime
        credentials = gssapi.Credentials(name=name, usage="initiate", store=store)
        _ = credentials.lifetime
        self._cache = cache
        return credentials

    def _is_valid(self) -> bool:
        try:
            return self._credentials is not None and bool(self._credentials.lifetime)
        except library().exceptions.GSSError:  # it has expired
            return False


@cache
def keytab_login(principal: str, keytab: SecretFile) -> KeytabLogin:
    """The log-in of the principal, one for the whole process."""
    return KeytabLogin(principal, keytab)


def check_keytab(principal: str, keytab: SecretFile) -> None:
    """Raises BadSetting if the library is missing or the file cannot be used."""
    library()
    try:
        keytab.check()
    except OSError as error:
        raise BadSetting(f"{keytab} ({principal}): {error.strerror}.") from None
