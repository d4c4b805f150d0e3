"""How we come into the clusters: through pure-sasl, over TLS where it is asked for.

PLAIN answers at once. GSSAPI may have to ask a KDC, in a thread.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

from puresasl import QOP, SASLError
from puresasl import mechanisms as puresasl_mechanisms
from puresasl.client import SASLClient
from puresasl.mechanisms import Mechanism

from conf.errors import BadSetting
from conf.names import ClusterName
from conf.settings.authentication import Qop
from conf.settings.upstream_auth import Login, Proof
from conf.topology import Endpoint
from proxy.auth.kerberos.gssapi_library import MAX_WRAPPED, GssSecurityLayer, library, own_name
from proxy.errors import WireError
from proxy.protocol.framing import GSSAPI, PLAIN
from proxy.protocol.security_layer import SecurityLayer

_ANY_PASSWORD = "causeway"  # will do where authentication is NONE; see docs/internals/proxy.md
_OURS = "GSSAPI of Causeway"  # pure-sasl's own needs another package, and the process's keytab


class Conversation:
    """One negotiation, from our side."""

    def __init__(self, mechanism: str, client: SASLClient) -> None:
        self.mechanism = mechanism
        self._client = client

    @property
    def complete(self) -> bool:
        return bool(self._client.complete)

    @property
    def layer(self) -> SecurityLayer | None:
        """The security layer of the bytes after the negotiation; None for none."""
        return None if self._client.qop == QOP.AUTH else _Layer(self._client)

    async def answer(self, challenge: bytes | None) -> bytes:
        """What we say to that, None for the first word. Raises WireError."""
        try:
            if self.mechanism == PLAIN:
                return self._client.process(challenge) or b""
            return await asyncio.to_thread(self._client.process, challenge) or b""
        except SASLError as error:
            raise WireError(f"the negotiation failed ({error})") from None


class _Layer:
    """What a negotiation chose, by pure-sasl's names."""

    def __init__(self, client: SASLClient) -> None:
        self._client = client
        self.room = int(client.max_buffer)

    def wrap(self, message: bytes) -> bytes:
        return bytes(self._client.wrap(message))

    def unwrap(self, token: bytes) -> bytes:
        return bytes(self._client.unwrap(token))


class UpstreamCredentials:
    """Our way into one cluster."""

    def __init__(self, login: Login) -> None:
        """Raises BadSetting for files that are not what they should be."""
        self.login = login
        self.tls = _context(login) if login.tls else None
        if login.proof is Proof.PLAIN:
            _password(login)
        if login.proof is Proof.KERBEROS:
            puresasl_mechanisms.mechanisms[_OURS] = _Tickets
            library()

    def conversation(self, endpoint: Endpoint, user: str) -> Conversation:
        """Raises WireError when our secret cannot be read."""
        login = self.login
        if login.proof is Proof.KERBEROS:
            return Conversation(GSSAPI, SASLClient(endpoint.host, None, _OURS, login=login))
        pair = (user, _ANY_PASSWORD)
        if login.proof is Proof.PLAIN:
            try:
                pair = (login.user, _password(login))
            except BadSetting as error:
                raise WireError(f"we have no password ({error})") from None
        name, password = pair
        client = SASLClient(endpoint.host, None, PLAIN, username=name, password=password)
        return Conversation(PLAIN, client)


class CredentialsByCluster:
    """Our ways into all clusters; a name alone where nothing is configured."""

    def __init__(self, logins: Mapping[ClusterName, Login], other: Login | None = None) -> None:
        """Raises BadSetting."""
        self._credentials = {name: UpstreamCredentials(login) for name, login in logins.items()}
        self._other = UpstreamCredentials(other or Login())

    def of(self, cluster: ClusterName) -> UpstreamCredentials:
        return self._credentials.get(cluster, self._other)


def _password(login: Login) -> str:
    """Raises BadSetting."""
    assert login.secret is not None, "settings are validated"
    try:
        password = login.secret.read_text().rstrip("\r\n")
    except UnicodeDecodeError:
        raise BadSetting(f"{login.secret}: not UTF-8 text") from None
    except OSError as error:
        raise BadSetting(f"{login.secret}: {error.strerror}") from None
    if not password:
        raise BadSetting(f"{login.secret} is empty")
    return password


def _context(login: Login) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(login.ca) if login.ca else None)
    except (OSError, ValueError) as error:
        raise BadSetting(f"{login.ca}: not certificates in PEM: {error}") from error


class _Tickets(Mechanism):  # type: ignore[misc]
    """GSSAPI of RFC 4752 with mutual authentication, and as much protection as the server wants."""

    name = GSSAPI
    score = 100
    allows_anonymous = False
    uses_plaintext = False
    active_safe = True
    qops = QOP.all

    def __init__(self, sasl: SASLClient, login: Login, **props: Any) -> None:
        super().__init__(sasl, **props)
        self._login = login
        self._context: Any = None
        self._sealed: GssSecurityLayer | None = None

    def process(self, challenge: bytes | None = None) -> bytes:
        """Raises SASLError."""
        gssapi = library()
        try:
            assert self._login.secret is not None, "settings are validated"
            self._login.secret.check()
            if self._context is None:
                self._context = self._new_context(gssapi)
            if not self._context.complete:
                return self._context.step(challenge) or b""
            return self._chosen(challenge or b"")
        except OSError as error:
            raise SASLError(f"{self._login.secret}: {error.strerror}") from None
        except gssapi.exceptions.GSSError as error:
            raise SASLError(" ".join(str(error).split())) from None

    def _new_context(self, gssapi: Any) -> Any:
        principal = gssapi.NameType.kerberos_principal
        server = own_name(self._login.server, self.sasl.host)
        credentials = gssapi.Credentials(
            name=gssapi.Name(own_name(self._login.user), principal),
            usage="initiate",
            store={
                "client_keytab": f"FILE:{self._login.secret}",
                "ccache": f"MEMORY:causeway:{self._login.user}",
            },
        )
        flags = gssapi.RequirementFlag
        context = gssapi.SecurityContext(
            name=gssapi.Name(server, principal),
            creds=credentials,
            usage="initiate",
            mech=gssapi.MechType.kerberos,
            flags=flags.mutual_authentication | flags.integrity | flags.out_of_sequence_detection,
        )
        context.__DEFER_STEP_ERRORS__ = False
        return context

    def _chosen(self, challenge: bytes) -> bytes:
        """The least of what the server offers: a Thrift Server offers what it insists on alone."""
        offer = bytes(self._context.unwrap(challenge).message)
        least = next((each for each in Qop if len(offer) == 4 and offer[0] & each.bit), None)
        if least is None:
            raise SASLError("not an offer of protection layers")
        ours = 0
        if least is not Qop.AUTH:
            theirs, ours = int.from_bytes(offer[1:], "big"), MAX_WRAPPED
            try:
                self._sealed = GssSecurityLayer(self._context, least is Qop.AUTH_CONF, theirs)
            except ValueError as error:
                raise SASLError(str(error)) from None
            self.sasl.max_buffer = self._sealed.room
        self.qop, self.complete = least.value.encode(), True
        answer = bytes((least.bit,)) + ours.to_bytes(3, "big")
        return bytes(self._context.wrap(answer, False).message)

    def wrap(self, outgoing: bytes) -> bytes:
        """Raises WireError."""
        return outgoing if self._sealed is None else self._sealed.wrap(outgoing)

    def unwrap(self, incoming: bytes) -> bytes:
        """Raises WireError."""
        return incoming if self._sealed is None else self._sealed.unwrap(incoming)
