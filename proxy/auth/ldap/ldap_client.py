"""Checks passwords in an LDAP directory, and applies the operator's filters of users and groups."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import ldap3
from ldap3.core.exceptions import LDAPException, LDAPOperationResult

from conf.settings.security.authentication import Ldap
from proxy.auth.ldap import ldap_queries as queries
from proxy.auth.ldap.ldap_queries import Attributes
from proxy.auth.throttled_authenticator import OnEntry
from saslauth.errors import AuthBackendUnavailable, BadCredentials

_TIMEOUT = 5  # seconds for each request
_MAX_ENTRIES = 1000  # in one reply
# Result codes that reject the user: invalidCredentials, noSuchObject, invalidDNSyntax,
# inappropriateAuthentication, constraintViolation, unwillingToPerform, insufficientAccessRights.
_REFUSALS = frozenset((49, 32, 34, 48, 19, 53, 50))
_log = logging.getLogger(__name__)


class LdapPasswords:
    """A PasswordBackend. Servers are tried in order until one answers.

    Referrals are not followed: they would send the password to another server.
    """

    def __init__(self, settings: Ldap) -> None:
        self._settings = settings
        for url in settings.urls:
            if urlsplit(url).scheme == "ldap" and not settings.start_tls:
                _log.warning("passwords go to %s in plain text: use ldaps or StartTLS", url)

    def check(self, user: str, password: str, on_entry: OnEntry | None = None) -> str:
        """The user's name in the directory. Raises BadCredentials, AuthBackendUnavailable.

        `on_entry` is called with the DN of the user's entry if the entry is found before the
        password is tried.
        """
        name = queries.user_name(self._settings, user)
        if not password or "\0" in password:
            # A bind with an empty password is anonymous, and succeeds.
            raise BadCredentials("an empty password")
        reasons = []
        for url in self._settings.urls:
            try:
                return _LdapLogin(self._settings, url).check(name, password, on_entry)
            except LDAPException as error:
                reasons.append(f"{url}: {type(error).__name__}")
        raise AuthBackendUnavailable("; ".join(reasons))

    def reach(self, url: str) -> None:
        """Connects to one of the servers, and binds as `bind_dn` where the settings name one.

        Raises AuthBackendUnavailable.
        """
        try:
            _LdapLogin(self._settings, url).reach()
        except LDAPException as error:
            raise AuthBackendUnavailable(f"{type(error).__name__}: {error}") from None


class _VerifiedTls(ldap3.Tls):
    """TLS with the checks of Python's ssl module: the authority, the dates, the host's name."""

    def __init__(self, settings: Ldap) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._authorities = str(settings.ca) if settings.ca is not None else None

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        context = ssl.create_default_context(cafile=self._authorities)
        connection.socket = context.wrap_socket(
            connection.socket,
            server_hostname=connection.server.host,
            do_handshake_on_connect=do_handshake,
        )


class _LdapLogin:
    """One log-in at one server. Methods raise LDAPException if the server does not answer."""

    def __init__(self, settings: Ldap, url: str) -> None:
        parts = urlsplit(url)
        self._settings = settings
        self._server = ldap3.Server(
            parts.hostname or "",
            port=parts.port or (636 if parts.scheme == "ldaps" else 389),
            use_ssl=parts.scheme == "ldaps",
            tls=_VerifiedTls(settings),
            get_info=ldap3.NONE,
            connect_timeout=_TIMEOUT,
            allowed_referral_hosts=[],
        )
        self._start_tls = settings.start_tls and parts.scheme == "ldap"

    def reach(self) -> None:
        """Connects, and binds as `bind_dn` if that is set. Raises AuthBackendUnavailable."""
        with self._bound_as_service() if self._settings.bind_dn else self._connected():
            pass

    def check(self, name: str, password: str, on_entry: OnEntry | None) -> str:
        """The user's name in the directory. Raises BadCredentials, AuthBackendUnavailable."""
        settings = self._settings
        if settings.bind_dn:
            with self._bound_as_service() as service:
                dn, attributes = self._find(service, name)
                if on_entry is not None:
                    on_entry(queries.normal(dn))
                user = queries.name_in_entry(settings, dn, attributes, name)
                with self._bound((dn,), password):
                    self._check_filters(service, dn, user)
                return user
        with self._bound(queries.principals(settings, name), password) as (bound, principal):
            dn, attributes = self._own_entry(bound, principal, name)
            user = queries.name_in_entry(settings, dn, attributes, name)
            self._check_filters(bound, dn, user)
            return user

    def _own_entry(self, bound: Any, principal: str, name: str) -> tuple[str, Attributes]:
        """The DN and name attributes of the bound user's own entry; the principal and no attributes
        if the directory does not show the entry.

        Raises BadCredentials if it does not show the entry and the group filter needs it.
        """
        settings = self._settings
        if queries.is_dn(principal):
            entries = self._names(bound, (principal,), "(objectClass=*)", ldap3.BASE)
            return next(iter(entries.items()), (principal, {}))
        if settings.groups or settings.user_patterns:
            with suppress(*(() if settings.groups else (BadCredentials,))):
                return self._find(bound, name)
        return principal, {}

    @contextmanager
    def _bound_as_service(self) -> Iterator[Any]:
        """A connection bound as `bind_dn`. Raises AuthBackendUnavailable."""
        settings, bound = self._settings, ExitStack()
        try:
            service, _ = bound.enter_context(
                self._bound((settings.bind_dn,), self._bind_password())
            )
        except BadCredentials:
            reason = "the directory rejects the password of hive.server2.authentication.ldap.binddn"
            raise AuthBackendUnavailable(reason) from None
        with bound:
            yield service

    def _bind_password(self) -> str:
        """The password of `bind_dn`. Raises AuthBackendUnavailable."""
        file = self._settings.bind_password_file
        if file is None:
            return self._settings.bind_password
        try:
            return file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise AuthBackendUnavailable(f"the bind password cannot be read: {error}") from None

    @contextmanager
    def _bound(self, principals: tuple[str, ...], password: str) -> Iterator[tuple[Any, str]]:
        """A connection bound as the first principal that has this password, and that principal.

        Raises BadCredentials.
        """
        with self._connected(principals[0], password) as connection:
            yield connection, self._bind(connection, principals)

    @contextmanager
    def _connected(self, user: str = "", password: str = "") -> Iterator[Any]:
        """A connection that is not bound yet. Raises AuthBackendUnavailable."""
        connection = ldap3.Connection(
            self._server,
            authentication=ldap3.SIMPLE if user else ldap3.ANONYMOUS,
            user=user or None,
            password=password or None,
            raise_exceptions=True,
            receive_timeout=_TIMEOUT,
            auto_referrals=False,
            check_names=False,
            read_only=True,
        )
        try:
            connection.open(read_server_info=False)
            if self._start_tls and not connection.start_tls(read_server_info=False):
                raise AuthBackendUnavailable("StartTLS does not begin")
            yield connection
        finally:
            connection.unbind()
            if connection.socket is not None:
                connection.socket.close()  # the library leaves it open if it did not connect

    def _bind(self, connection: Any, principals: tuple[str, ...]) -> str:
        for principal in principals:
            connection.user = principal
            try:
                connection.bind(read_server_info=False)
            except LDAPOperationResult as error:
                if error.result not in _REFUSALS:
                    raise
            else:
                return principal
        raise BadCredentials("the directory does not take the password")

    def _find(self, connection: Any, name: str) -> tuple[str, Attributes]:
        """The DN and the name attributes of the user's only entry. Raises BadCredentials."""
        settings = self._settings
        query = queries.find_user(settings, name)
        entries = self._names(connection, queries.bases(settings.user_patterns), query)
        if len(entries) != 1:
            raise BadCredentials(f"the directory has {len(entries)} entries of that name")
        return next(iter(entries.items()))

    def _check_filters(self, connection: Any, dn: str, name: str) -> None:
        """Raises BadCredentials unless the operator's filters accept the user."""
        settings = self._settings
        if settings.query:
            entries = self._search(
                connection, (settings.base,), settings.query, settings.group_membership
            )
            names = {queries.short(each) for each in entries}
            names |= {queries.short(value) for values in entries.values() for value in values}
            if name.lower() not in names:
                raise BadCredentials("the custom query does not find the user")
            return
        if settings.users and name.lower() not in settings.users:
            raise BadCredentials("the user filter does not have the user")
        if settings.groups and not self._is_in_group(connection, dn, name):
            raise BadCredentials("the user is in none of the group filter's groups")

    def _is_in_group(self, connection: Any, dn: str, name: str) -> bool:
        settings = self._settings
        bases = queries.bases(settings.group_patterns)
        if not settings.user_membership:
            query = queries.find_groups(settings, dn, name)
            entries = self._search(connection, bases, query)
            return any(queries.short(each) in settings.groups for each in entries)
        groups: list[str] = []
        for group in settings.groups:
            groups += self._search(connection, bases, queries.find_group(settings, group))
        key = settings.user_membership
        memberships = self._search(connection, (dn,), "(objectClass=*)", key, ldap3.BASE)
        return any(queries.is_member(values, groups) for values in memberships.values())

    def _search(
        self,
        connection: Any,
        bases: tuple[str, ...],
        query: str,
        attribute: str = ldap3.NO_ATTRIBUTES,
        scope: Any = ldap3.SUBTREE,
    ) -> dict[str, list[str]]:
        """The entries' DNs, each with the attribute's values. Raises BadCredentials."""
        entries = self._entries(connection, bases, query, (attribute,), scope)
        return {dn: values.get(attribute, []) for dn, values in entries.items()}

    def _names(
        self, connection: Any, bases: tuple[str, ...], query: str, scope: Any = ldap3.SUBTREE
    ) -> dict[str, Attributes]:
        """The entries' DNs, each with its name attributes. Raises BadCredentials."""
        return self._entries(
            connection, bases, query, queries.name_attributes(self._settings), scope
        )

    def _entries(
        self,
        connection: Any,
        bases: tuple[str, ...],
        query: str,
        attributes: tuple[str, ...],
        scope: Any,
    ) -> dict[str, Attributes]:
        """The entries' DNs, each with the attributes' values. Raises BadCredentials."""
        entries: dict[str, Attributes] = {}
        for base in bases:
            try:
                connection.search(
                    base,
                    query,
                    scope,
                    attributes=list(attributes),
                    size_limit=_MAX_ENTRIES,
                    time_limit=_TIMEOUT,
                )
            except LDAPOperationResult as error:
                if error.result not in _REFUSALS:
                    raise
                continue
            for entry in connection.response or ():
                if entry["type"] == "searchResEntry":
                    raw = entry["raw_attributes"]
                    entries[entry["dn"]] = {
                        each: [value.decode(errors="replace") for value in raw.get(each, [])]
                        for each in attributes
                    }
        return entries
