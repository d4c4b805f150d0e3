"""Opens connections to the metastore as the settings say, in Causeway's own name or a user's.

Without SASL the metastore believes the user's name (`set_ugi`). With SASL it gives Causeway a
delegation token for the user, if its `hadoop.proxyuser` allows that, and a second connection logs
in with the token.
"""

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.calls import CALLS
from metastore.client.connection import Connection
from metastore.client.login import mechanism, own_name, tls_context
from metastore.errors import MetastoreRefused
from saslauth.errors import SaslFailed
from saslauth.tokens.delegation_token import DelegationToken, token_of_text
from saslauth.tokens.digest_md5_client import DigestMd5Client
from thriftcodec.values import LIST, STRING, Struct, strings

PLAIN = MetastoreLogin()  # neither SASL nor TLS


def connect(
    endpoint: Endpoint, timeout: float, login: MetastoreLogin, user: str | None = None
) -> Connection:
    """A connection that is logged in. Each of its steps may take `timeout` seconds.

    Raises OSError, also if the log-in fails; MalformedReply; MetastoreRefused if the metastore
    refuses the user.
    """
    try:
        if not login.sasl:
            connection = Connection(endpoint, timeout, None, tls_context(login))
            return connection if user is None else _claiming(connection, user, timeout)
        if user is not None and user != own_name(login):
            proof = DigestMd5Client(_token_for(endpoint, timeout, login, user))
            return Connection(endpoint, timeout, proof, tls_context(login))
        return Connection(endpoint, timeout, mechanism(login, endpoint.host), tls_context(login))
    except SaslFailed as error:
        raise PermissionError(f"the log-in to {endpoint} failed: {error}") from error


def delegation_token(
    endpoint: Endpoint, timeout: float, login: MetastoreLogin, user: str
) -> DelegationToken:
    """A token of the metastore for the user. Raises OSError, MalformedReply, MetastoreRefused."""
    try:
        return _token_for(endpoint, timeout, login, user)
    except SaslFailed as error:
        raise PermissionError(f"the log-in to {endpoint} failed: {error}") from error


def _claiming(connection: Connection, user: str, timeout: float) -> Connection:
    try:
        arguments = Struct({1: (STRING, user), 2: (LIST, strings(()))})
        connection.call("set_ugi", arguments, CALLS["set_ugi"].exceptions, timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _token_for(
    endpoint: Endpoint, timeout: float, login: MetastoreLogin, user: str
) -> DelegationToken:
    connection = Connection(endpoint, timeout, mechanism(login, endpoint.host), tls_context(login))
    try:
        arguments = Struct({1: (STRING, user), 2: (STRING, user)})
        exceptions = CALLS["get_delegation_token"].exceptions
        text = connection.call("get_delegation_token", arguments, exceptions, timeout)
    except MetastoreRefused as refused:
        raise MetastoreRefused(
            f"no delegation token for user {user}: {refused.message}", refused.kind
        ) from refused
    finally:
        connection.close()
    return token_of_text(str(text))
