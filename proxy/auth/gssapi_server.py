"""Kerberos: tickets of clients, by SASL GSSAPI (RFC 4752) or SPNEGO. Needs `causeway[kerberos]`."""

from typing import Any

from conf.errors import BadSetting
from conf.settings.authentication import KerberosService, Qop
from proxy.auth.errors import Unsure, Wrong
from proxy.auth.kerberos import LARGEST, Sealed, library, own_name
from proxy.auth.throttled_authenticator import Context
from proxy.auth.user_names import name_of_principal
from proxy.server.sasl_transport import Layer


class Tickets:
    """What our keytabs can accept."""

    def __init__(
        self, kerberos: KerberosService, spnego: KerberosService | None, qop: Qop = Qop.AUTH
    ) -> None:
        """Raises BadSetting when a keytab has no keys of its principal."""
        self._gssapi = library()
        self._qop = qop
        self._realm = kerberos.realm
        only = [self._gssapi.MechType.kerberos]
        self._sasl = self._credentials(kerberos, only)
        self._any = self._credentials(kerberos, None)
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

    def sasl(self) -> Context:
        return _Sasl(self._gssapi, self._sasl, self._realm, self._qop)

    def spnego(self) -> Context:
        """As in HiveServer2, tickets for either of our services: hive-jdbc asks for one of the
        binary transport's over HTTP too."""
        ours = [each for each in (self._spnego, self._any) if each is not None]
        return _Spnego([_Accepting(self._gssapi, each, self._realm) for each in ours])


class _Accepting:
    """A security context; what the library raises is the client's failure or a KDC's."""

    layer: Layer | None = None

    def __init__(self, gssapi: Any, credentials: Any, realm: str) -> None:
        self._gssapi = gssapi
        self._realm = realm
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")
        self._context.__DEFER_STEP_ERRORS__ = False  # else a refusal is told one step too late

    def accepted(self, token: bytes) -> bytes:
        """Our next token. Raises Wrong."""
        try:
            return self._context.step(token) or b""
        except self._gssapi.exceptions.GSSError as error:
            raise Wrong(f"the ticket is not good: {type(error).__name__}") from None

    @property
    def principal(self) -> str | None:
        """Whose ticket it is, once that is proved. Raises Wrong for nobody's."""
        if not self._context.complete:
            return None
        if self._context.initiator_name is None:
            raise Wrong("an anonymous ticket")
        return str(self._context.initiator_name)

    def user(self) -> str | None:
        principal = self.principal
        return None if principal is None else name_of_principal(principal, self._realm)


class _Spnego:
    """The first of the contexts that takes the first token goes on."""

    layer: Layer | None = None  # HTTP has none

    def __init__(self, contexts: list[_Accepting]) -> None:
        self._contexts = contexts
        self._begun = False

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        while True:
            context = self._contexts[0]
            try:
                reply = context.accepted(token)
            except Wrong:
                if self._begun or len(self._contexts) == 1:
                    raise
                del self._contexts[0]
            else:
                self._begun = True
                return reply, context.user()


class _Sasl(_Accepting):
    """After the context: which layer there is, wrapped; then what the client chose (RFC 4752)."""

    def __init__(self, gssapi: Any, credentials: Any, realm: str, qop: Qop) -> None:
        super().__init__(gssapi, credentials, realm)
        self._qop = qop
        self._offered = False

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        if self._offered:
            return b"", self._chosen(token)
        if not self._context.complete:
            reply = self.accepted(token)
            if reply or not self._context.complete:
                return reply, None
        elif token:
            raise Wrong("a token where none was due")
        self._offered = True
        ours = 0 if self._qop is Qop.AUTH else LARGEST
        return self._wrapped(bytes((self._qop.bit,)) + ours.to_bytes(3, "big")), None

    def _wrapped(self, message: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(message, False).message)
        except self._gssapi.exceptions.GSSError as error:
            raise Unsure(f"the context cannot wrap: {type(error).__name__}") from None

    def _chosen(self, token: bytes) -> str | None:
        """The user, when the client wants that layer and to be nobody else. Raises Wrong."""
        try:
            message = bytes(self._context.unwrap(token).message)
        except self._gssapi.exceptions.GSSError as error:
            raise Wrong(f"the last token is not good: {type(error).__name__}") from None
        if len(message) < 4 or message[0] != self._qop.bit:
            raise Wrong("a protection layer that is not offered")
        if message[4:] not in (b"", (self.principal or "").encode()):
            raise Wrong("an authorisation id of somebody else")
        user = self.user()
        if self._qop is not Qop.AUTH:
            theirs = int.from_bytes(message[1:4], "big")
            try:
                self.layer = Sealed(self._context, self._qop is Qop.AUTH_CONF, theirs)
            except ValueError as error:
                raise Wrong(str(error)) from None
        return user
