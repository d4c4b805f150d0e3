"""Builds the authenticator that the settings configure."""

from conf.settings.security.authentication import Auth, Identity
from proxy.auth.authenticator import Authenticator, NoAuthentication
from proxy.auth.login_throttle import LoginThrottle
from proxy.auth.passwords.password_client import AnyPassword, CustomPasswords, FilePasswords
from proxy.auth.throttled_authenticator import PasswordBackend, ThrottledAuthenticator
from proxy.auth.tokens.token_keys_client import JwtVerifier
from proxy.auth.user_names import name_of_principal
from saslauth.gssapi_server import GssapiServer
from saslauth.negotiation import GSSAPI, PLAIN

_UNAUTHENTICATED = frozenset((Auth.NONE, Auth.NOSASL))


def build_authenticator(identity: Identity, throttle: LoginThrottle | None = None) -> Authenticator:
    """The authenticator of these settings.

    `throttle` is shared by the server's worker processes; None if there is one process. Raises
    BadSetting for an unusable file, keytab or callable.
    """
    if identity.methods <= _UNAUTHENTICATED:
        return NoAuthentication()
    passwords, kerberos = _passwords(identity), identity.kerberos
    mechanisms = [PLAIN] if passwords is not None else []
    mechanisms += [GSSAPI] if kerberos is not None else []
    return ThrottledAuthenticator(
        frozenset(mechanisms),
        passwords,
        _gssapi(identity) if kerberos is not None else None,
        JwtVerifier(identity.jwt) if identity.jwt is not None else None,
        throttle,
    )


def _gssapi(identity: Identity) -> GssapiServer:
    kerberos = identity.kerberos
    assert kerberos is not None
    return GssapiServer(
        kerberos,
        identity.spnego,
        (identity.qop,),
        lambda principal: name_of_principal(principal, kerberos.realm, identity.auth_to_local),
    )


def _passwords(identity: Identity) -> PasswordBackend | None:
    if identity.ldap is not None:
        from proxy.auth.ldap.ldap_client import LdapPasswords  # ldap3 is large

        return LdapPasswords(identity.ldap)
    if identity.password_file is not None:
        return FilePasswords(identity.password_file)
    if identity.custom:
        return CustomPasswords(identity.custom)
    return AnyPassword() if Auth.NONE in identity.methods else None
