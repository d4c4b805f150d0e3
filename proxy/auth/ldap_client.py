"""Asks an LDAP directory whether a password is right, and whether its owner may come in."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import ldap3
from ldap3.core.exceptions import LDAPException, LDAPOperationResult

from conf.settings.authentication import Ldap
from proxy.auth import ldap_queries as directory
from proxy.auth.errors import Unsure, Wrong
from proxy.auth.ldap_queries import Names
from proxy.auth.throttled_authenticator import Found

_WAIT = 5  # seconds for each thing that is asked
_MOST = 1000  # entries of one answer
# invalidCredentials, noSuchObject, invalidDNSyntax, inappropriateAuthentication,
# constraintViolation, unwillingToPerform, insufficientAccessRights
_REFUSALS = frozenset((49, 32, 34, 48, 19, 53, 50))
_log = logging.getLogger(__name__)


class Directory:
    """Servers are tried in order while they do not answer. Referrals are not followed: they
    would carry the password elsewhere."""

    def __init__(self, settings: Ldap) -> None:
        self._settings = settings
        for url in settings.urls:
            if urlsplit(url).scheme == "ldap" and not settings.start_tls:
                _log.warning("passwords go to %s in plain text: use ldaps or StartTLS", url)

    def check(self, user: str, password: str, found: Found | None = None) -> str:
        """The user's name as the directory has it. Raises Wrong, Unsure.

        `found` is told the DN of the user's entry where that is found before the password is tried.
        """
        name = directory.user_name(self._settings, user)
        if not password or "\0" in password:
            raise Wrong("an empty password")  # a directory takes it for nobody's, and says yes
        reasons = []
        for url in self._settings.urls:
            try:
                return _Talk(self._settings, url).check(name, password, found)
            except LDAPException as error:
                reasons.append(f"{url}: {type(error).__name__}")
        raise Unsure("; ".join(reasons))


class _Verified(ldap3.Tls):
    """TLS as Python's own library checks it: the authority, the dates, the host's name."""

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


class _Talk:
    """One attempt at one server. LDAPException: that server could not tell."""

    def __init__(self, settings: Ldap, url: str) -> None:
        parts = urlsplit(url)
        self._settings = settings
        self._server = ldap3.Server(
            parts.hostname or "",
            port=parts.port or (636 if parts.scheme == "ldaps" else 389),
            use_ssl=parts.scheme == "ldaps",
            tls=_Verified(settings),
            get_info=ldap3.NONE,
            connect_timeout=_WAIT,
            allowed_referral_hosts=[],
        )
        self._start_tls = settings.start_tls and parts.scheme == "ldap"

    def check(self, name: str, password: str, found: Found | None) -> str:
        """The directory's own name of the user. Raises Wrong, Unsure."""
        settings = self._settings
        if settings.bind_dn:
            with self._serving() as serving:
                dn, names = self._find(serving, name)
                if found is not None:
                    found(directory.normal(dn))
                own = directory.own_name(settings, dn, names, name)
                with self._bound((dn,), password):
                    self._admit(serving, dn, own)
                return own
        with self._bound(directory.principals(settings, name), password) as (bound, principal):
            dn, names = self._own_entry(bound, principal, name)
            own = directory.own_name(settings, dn, names, name)
            self._admit(bound, dn, own)
            return own

    def _own_entry(self, bound: Any, principal: str, name: str) -> tuple[str, Names]:
        """The entry of the user who is bound, as far as the directory lets its user see it. Raises
        Wrong where it has to be seen."""
        settings = self._settings
        if directory.is_dn(principal):
            seen = self._names(bound, (principal,), "(objectClass=*)", ldap3.BASE)
            return next(iter(seen.items()), (principal, {}))
        if settings.groups or settings.user_patterns:
            with suppress(*(() if settings.groups else (Wrong,))):
                return self._find(bound, name)
        return principal, {}

    @contextmanager
    def _serving(self) -> Iterator[Any]:
        """A connection bound as ourselves. Raises Unsure."""
        settings, bound = self._settings, ExitStack()
        try:
            found, _ = bound.enter_context(self._bound((settings.bind_dn,), settings.bind_password))
        except Wrong:
            raise Unsure("the directory does not take our own password") from None
        with bound:
            yield found

    @contextmanager
    def _bound(self, principals: tuple[str, ...], password: str) -> Iterator[tuple[Any, str]]:
        """A connection bound as the first of them that has this password. Raises Wrong."""
        connection = ldap3.Connection(
            self._server,
            authentication=ldap3.SIMPLE,
            user=principals[0],
            password=password,
            raise_exceptions=True,
            receive_timeout=_WAIT,
            auto_referrals=False,
            check_names=False,
            read_only=True,
        )
        try:
            connection.open(read_server_info=False)
            if self._start_tls and not connection.start_tls(read_server_info=False):
                raise Unsure("StartTLS does not begin")
            yield connection, self._bind(connection, principals)
        finally:
            connection.unbind()
            if connection.socket is not None:
                connection.socket.close()  # the library leaves one that did not connect

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
        raise Wrong("the directory does not take the password")

    def _find(self, connection: Any, name: str) -> tuple[str, Names]:
        """The DN of the user's one entry, and the names in it. Raises Wrong."""
        settings = self._settings
        asked = directory.find_user(settings, name)
        found = self._names(connection, directory.bases(settings.user_patterns), asked)
        if len(found) != 1:
            raise Wrong(f"the directory has {len(found)} entries of that name")
        return next(iter(found.items()))

    def _admit(self, connection: Any, dn: str, name: str) -> None:
        """The operator's filters. Raises Wrong."""
        settings = self._settings
        if settings.query:
            found = self._search(
                connection, (settings.base,), settings.query, settings.group_membership
            )
            named = {directory.short(each) for each in found}
            named |= {directory.short(value) for values in found.values() for value in values}
            if name.lower() not in named:
                raise Wrong("the custom query does not find the user")
            return
        if settings.users and name.lower() not in settings.users:
            raise Wrong("not one of the user filter")
        if settings.groups and not self._is_in_group(connection, dn, name):
            raise Wrong("in none of the groups of the group filter")

    def _is_in_group(self, connection: Any, dn: str, name: str) -> bool:
        settings = self._settings
        bases = directory.bases(settings.group_patterns)
        if not settings.user_membership:
            asked = directory.find_groups(settings, dn, name)
            found = self._search(connection, bases, asked)
            return any(directory.short(each) in settings.groups for each in found)
        groups: list[str] = []
        for each in settings.groups:
            groups += self._search(connection, bases, directory.find_group(settings, each))
        key = settings.user_membership
        own = self._search(connection, (dn,), "(objectClass=*)", key, ldap3.BASE)
        return any(directory.is_member(values, groups) for values in own.values())

    def _search(
        self,
        connection: Any,
        bases: tuple[str, ...],
        asked: str,
        attribute: str = ldap3.NO_ATTRIBUTES,
        scope: Any = ldap3.SUBTREE,
    ) -> dict[str, list[str]]:
        """The entries' DNs, each with that attribute's values. Raises Wrong."""
        entries = self._entries(connection, bases, asked, (attribute,), scope)
        return {dn: values.get(attribute, []) for dn, values in entries.items()}

    def _names(
        self, connection: Any, bases: tuple[str, ...], asked: str, scope: Any = ldap3.SUBTREE
    ) -> dict[str, Names]:
        """The entries' DNs, each with the names that its user has. Raises Wrong."""
        return self._entries(
            connection, bases, asked, directory.name_attributes(self._settings), scope
        )

    def _entries(
        self,
        connection: Any,
        bases: tuple[str, ...],
        asked: str,
        attributes: tuple[str, ...],
        scope: Any,
    ) -> dict[str, Names]:
        """The entries' DNs, each with the values of the attributes. Raises Wrong."""
        found: dict[str, Names] = {}
        for base in bases:
            try:
                connection.search(
                    base,
                    asked,
                    scope,
                    attributes=list(attributes),
                    size_limit=_MOST,
                    time_limit=_WAIT,
                )
            except LDAPOperationResult as error:
                if error.result not in _REFUSALS:
                    raise
                continue
            for entry in connection.response or ():
                if entry["type"] == "searchResEntry":
                    raw = entry["raw_attributes"]
                    found[entry["dn"]] = {
                        each: [value.decode(errors="replace") for value in raw.get(each, [])]
                        for each in attributes
                    }
        return found
