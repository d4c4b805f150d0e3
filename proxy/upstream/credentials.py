"""How we come into the clusters: by SASL, over TLS where it is asked for.

PLAIN answers at once. GSSAPI may have to ask a KDC, in a thread.
"""

import asyncio
import ssl
from collections.abc import Mapping

from conf.errors import BadSetting
from conf.names import ClusterName
from conf.settings.security.upstream_auth import Login, Proof
from conf.topology import Endpoint
from proxy.errors import WireError
from saslauth.errors import SaslFailed
from saslauth.gssapi_client import GssapiClient
from saslauth.keytab_login import check_keytab, keytab_login
from saslauth.negotiation import PLAIN, Mechanism
from saslauth.plain_client import PlainClient
from saslauth.security_layer import SecurityLayer

_ANY_PASSWORD = "causeway"  # will do where authentication is NONE; see docs/internals/proxy.md


class Conversation:
    """One negotiation, from our side."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism

    @property
    def mechanism(self) -> str:
        return self._mechanism.name

    @property
    def complete(self) -> bool:
        return self._mechanism.complete

    @property
    def layer(self) -> SecurityLayer | None:
        """The security layer of the bytes after the negotiation; None for none."""
        return self._mechanism.layer

    async def answer(self, challenge: bytes | None) -> bytes:
        """The response to a challenge, None for the first one. Raises WireError."""
        try:
            if self.mechanism == PLAIN:
                return self._mechanism.step(challenge)
            return await asyncio.to_thread(self._mechanism.step, challenge)
        except SaslFailed as error:
            raise WireError(f"the negotiation failed ({error})") from None


class UpstreamCredentials:
    """Our way into one cluster."""

    def __init__(self, login: Login) -> None:
        """Raises BadSetting for files that are not what they should be."""
        self.login = login
        self.tls = _context(login) if login.tls else None
        if login.proof is Proof.PLAIN:
            _password(login)
        if login.proof is Proof.KERBEROS:
            assert login.secret is not None, "settings are validated"
            check_keytab(login.user, login.secret)

    def conversation(self, endpoint: Endpoint, user: str) -> Conversation:
        """Raises WireError when our secret cannot be read."""
        login = self.login
        if login.proof is Proof.KERBEROS:
            assert login.secret is not None, "settings are validated"
            keys = keytab_login(login.user, login.secret)
            return Conversation(GssapiClient(keys, login.server, endpoint.host))
        pair = (user, _ANY_PASSWORD)
        if login.proof is Proof.PLAIN:
            try:
                pair = (login.user, _password(login))
            except BadSetting as error:
                raise WireError(f"we have no password ({error})") from None
        return Conversation(PlainClient(*pair))


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
