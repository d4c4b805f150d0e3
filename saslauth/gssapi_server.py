"""The server's side of SASL GSSAPI (RFC 4752) and of SPNEGO. Needs `causeway[kerberos]`."""

from collections.abc import Callable, Collection
from typing import Any

from conf.errors import BadSetting
from conf.settings.security.authentication import KerberosService, Qop
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from saslauth.gssapi_library import MAX_WRAPPED, GssSecurityLayer, library, own_name
from saslauth.negotiation import ServerContext
from saslauth.security_layer import SecurityLayer

NameOf = Callable[[str], str]
"""The user's name for a principal. Raises BadCredentials."""


class GssapiServer:
    """Accepts tickets for the principals of our keytabs."""

    def __init__(
        self,
        kerberos: KerberosService,
        spnego: KerberosService | None,
        offered: Collection[Qop],
        name_of: NameOf,
    ) -> None:
        """`offered` are the protections of messages from which a client chooses.

        Raises BadSetting if a keytab cannot be used or has no keys of its principal.
        """
        self._gssapi = library()
        self._offered = tuple(offered)
        self._name_of = name_of
        kerberos_only = [self._gssapi.MechType.kerberos]
        self._sasl = self._credentials(kerberos, kerberos_only)
        self._any_mechanism = self._credentials(kerberos, None)
        self._spnego = self._credentials(spnego, None) if spnego is not None else None

    def _credentials(self, service: KerberosService, mechanisms: list[Any] | None) -> Any:
        gssapi = self._gssapi
        name = gssapi.Name(own_name(service.principal), gssapi.NameType.kerberos_principal)
        store = {"keytab": f"FILE:{service.keytab}"}
        try:
            service.keytab.check()
            return gssapi.Credentials(name=name, usage="accept", mechs=mechanisms, store=store)
        except OSError as error:
            raise BadSetting(f"{service.keytab}: {error.strerror}.") from error
        except gssapi.exceptions.GSSError as error:
            raise BadSetting(
                f"{service.keytab} has no keys of {own_name(service.principal)}: {error}."
            ) from error

    def sasl(self) -> ServerContext:
        return _SaslContext(self._gssapi, self._sasl, self._name_of, self._offered)

    def spnego(self) -> ServerContext:
        """A context that accepts tickets for both services, as HiveServer2 does: hive-jdbc sends a
        ticket of the binary transport's service over HTTP, too."""
        services = [each for each in (self._spnego, self._any_mechanism) if each is not None]
        return _SpnegoContext([_Context(self._gssapi, each, self._name_of) for each in services])


class _Context:
    """A GSSAPI security context. The library's errors become BadCredentials."""

    layer: SecurityLayer | None = None

    def __init__(self, gssapi: Any, credentials: Any, name_of: NameOf) -> None:
        self._gssapi = gssapi
        self._name_of = name_of
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")
        self._context.__DEFER_STEP_ERRORS__ = False  # otherwise errors come one step too late

    def accept(self, token: bytes) -> bytes:
        """The next token for the client. Raises BadCredentials."""
        try:
            return self._context.step(token) or b""
        except self._gssapi.exceptions.GSSError as error:
            raise BadCredentials(f"the ticket is invalid: {type(error).__name__}") from None

    @property
    def principal(self) -> str | None:
        """The ticket's principal; None if it is not proved yet. Raises BadCredentials."""
        if not self._context.complete:
            return None
        if self._context.initiator_name is None:
            raise BadCredentials("the ticket is anonymous")
        return str(self._context.initiator_name)

    def user(self) -> str | None:
        principal = self.principal
        return None if principal is None else self._name_of(principal)


class _SpnegoContext:
    """Uses the first context that accepts the client's first token."""

    layer: SecurityLayer | None = None  # HTTP has no protection of messages

    def __init__(self, contexts: list[_Context]) -> None:
        self._contexts = contexts
        self._begun = False

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        while True:
            context = self._contexts[0]
            try:
                reply = context.accept(token)
            except BadCredentials:
                if self._begun or len(self._contexts) == 1:
                    raise
                del self._contexts[0]
            else:
                self._begun = True
                return reply, context.user()


class _SaslContext(_Context):
    """SASL GSSAPI: when the context is complete, the server sends the protections that it offers,
    wrapped, and the client answers with its choice (RFC 4752)."""

    def __init__(
        self, gssapi: Any, credentials: Any, name_of: NameOf, offered: tuple[Qop, ...]
    ) -> None:
        super().__init__(gssapi, credentials, name_of)
        self._choices = {each.bit: each for each in offered}
        self._offered = False

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        if self._offered:
            return b"", self._check_choice(token)
        if not self._context.complete:
            reply = self.accept(token)
            if reply or not self._context.complete:
                return reply, None
        elif token:
            raise BadCredentials("an unexpected token")
        self._offered = True
        limit = MAX_WRAPPED if self._choices.keys() - {Qop.AUTH.bit} else 0
        return self._wrapped(bytes((sum(self._choices),)) + limit.to_bytes(3, "big")), None

    def _wrapped(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(message, False).message)
        except self._gssapi.exceptions.GSSError as error:
            reason = f"the context cannot wrap: {type(error).__name__}"
            raise AuthBackendUnavailable(reason) from None

    def _check_choice(self, token: bytes) -> str | None:
        """The user, if the client chose an offered protection and no other authorisation id.

        Raises BadCredentials.
        """
        try:
            message = bytes(self._context.unwrap(token).message)
        except self._gssapi.exceptions.GSSError as error:
            raise BadCredentials(f"the last token is invalid: {type(error).__name__}") from None
        if len(message) < 4 or message[0] not in self._choices:
            raise BadCredentials("a protection layer that is not offered")
        if message[4:] not in (b"", (self.principal or "").encode()):
            raise BadCredentials("the authorisation id of another user")
        user = self.user()
        chosen = self._choices[message[0]]
        if chosen is not Qop.AUTH:
            peer_limit = int.from_bytes(message[1:4], "big")
            try:
                self.layer = GssSecurityLayer(self._context, chosen is Qop.AUTH_CONF, peer_limit)
            except ValueError as error:
                raise BadCredentials(str(error)) from None
        return user
