"""The client's side of GSSAPI (RFC 4752): mutual authentication by Kerberos tickets."""

from typing import Any

from conf.settings.security.authentication import Qop
from saslauth.errors import SaslFailed
from saslauth.gssapi_library import MAX_WRAPPED, GssSecurityLayer, library, own_name
from saslauth.keytab_login import KeytabLogin
from saslauth.negotiation import GSSAPI
from saslauth.security_layer import SecurityLayer


class GssapiClient:
    """A Mechanism. `server` is the server's principal, in which `host` replaces `_HOST`.

    It chooses the weakest protection of messages that the server offers: a server that requires
    protection offers no weaker one.
    """

    name = GSSAPI

    def __init__(self, login: KeytabLogin, server: str, host: str) -> None:
        self.complete = False
        self.layer: SecurityLayer | None = None
        self._login = login
        self._server = own_name(server, host)
        self._context: Any = None

    def step(self, challenge: bytes | None) -> bytes:
        """See Mechanism."""
        gssapi = library()
        try:
            if self._context is None:
                self._context = self._new_context(gssapi)
            if not self._context.complete:
                return self._context.step(challenge) or b""
            return self._choose_protection(challenge or b"")
        except gssapi.exceptions.GSSError as error:
            raise SaslFailed(f"{self._server}: {' '.join(str(error).split())}") from None

    def _new_context(self, gssapi: Any) -> Any:
        flags = gssapi.RequirementFlag
        context = gssapi.SecurityContext(
            name=gssapi.Name(self._server, gssapi.NameType.kerberos_principal),
            creds=self._login.credentials(),
            usage="initiate",
            mech=gssapi.MechType.kerberos,
            flags=flags.mutual_authentication | flags.integrity | flags.out_of_sequence_detection,
        )
        context.__DEFER_STEP_ERRORS__ = False
        return context

    def _choose_protection(self, challenge: bytes) -> bytes:
        """The answer to the server's offer: the chosen protection, and our largest message."""
        offer = bytes(self._context.unwrap(challenge).message)
        weakest = next((each for each in Qop if len(offer) == 4 and offer[0] & each.bit), None)
        if weakest is None:
            raise SaslFailed("not an offer of protection layers")
        own_limit = 0
        if weakest is not Qop.AUTH:
            peer_limit, own_limit = int.from_bytes(offer[1:], "big"), MAX_WRAPPED
            try:
                self.layer = GssSecurityLayer(self._context, weakest is Qop.AUTH_CONF, peer_limit)
            except ValueError as error:
                raise SaslFailed(str(error)) from None
        self.complete = True
        answer = bytes((weakest.bit,)) + own_limit.to_bytes(3, "big")
        return bytes(self._context.wrap(answer, False).message)
