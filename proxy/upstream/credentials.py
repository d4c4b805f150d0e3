"""The credentials with which the proxy logs in to clusters: by SASL, over TLS if configured.

PLAIN responds at once. GSSAPI may send requests to a KDC, so it runs in a thread.
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

_ANY_PASSWORD = "causeway"  # for authentication NONE, which accepts any (docs/internals/proxy.md)


class Conversation:
    """The client side of one SASL negotiation."""

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
        """The response to a challenge; None: the initial response. Raises WireError."""
        try:
            if self.mechanism == PLAIN:
                return self._mechanism.step(challenge)
            return await asyncio.to_thread(self._mechanism.step, challenge)
        except SaslFailed as error:
            raise WireError(f"the negotiation failed ({error})") from None


class UpstreamCredentials:
    """The proxy's login and TLS settings for one cluster."""

    def __init__(self, login: Login) -> None:
        """Reads the files of the login. Raises BadSetting for a file that cannot be used."""
        self.login = login
        self.tls = _context(login) if login.tls else None
        if login.proof is Proof.PLAIN:
            _password(login)
        if login.proof is Proof.KERBEROS:
            assert login.secret is not None, "settings are validated"
            check_keytab(login.user, login.secret)

    def conversation(self, endpoint: Endpoint, user: str) -> Conversation:
        """Starts a negotiation. `user` is the client's, which authentication NONE needs. Raises
        WireError if the secret's file cannot be read."""
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
    """The credentials for each cluster."""

    def __init__(self, logins: Mapping[ClusterName, Login], other: Login | None = None) -> None:
        """`other` is for clusters without a login; None: the user's name alone. Raises
        BadSetting."""
        self._credentials = {name: UpstreamCredentials(login) for name, login in logins.items()}
        self._other = UpstreamCredentials(other or Login())

    def of(self, cluster: ClusterName) -> UpstreamCredentials:
        return self._credentials.get(cluster, self._other)


def _password(login: Login) -> str:
    """Reads the password's file. Raises BadSetting."""
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
