"""The authenticator that the settings ask for."""

from conf.settings.authentication import Auth, Identity
from proxy.auth.authenticator import Anyone, Authenticator
from proxy.auth.gssapi_server import Tickets
from proxy.auth.ldap_client import Directory
from proxy.auth.login_throttle import LoginThrottle
from proxy.auth.password_client import AnyPassword, Custom, PasswordFile
from proxy.auth.throttled_authenticator import Gate, Passwords
from proxy.auth.token_keys_client import Tokens
from proxy.protocol.framing import GSSAPI, PLAIN

_NO_PROOF = frozenset((Auth.NONE, Auth.NOSASL))


def made(identity: Identity, throttle: LoginThrottle | None = None) -> Authenticator:
    """`throttle` is shared by all of the server's processes; None: there is one process.

    Raises BadSetting for a file, keytab or callable that is not what it should be."""
    if identity.methods <= _NO_PROOF:
        return Anyone()
    passwords, kerberos = _passwords(identity), identity.kerberos
    mechanisms = [PLAIN] if passwords is not None else []
    mechanisms += [GSSAPI] if kerberos is not None else []
    return Gate(
        frozenset(mechanisms),
        passwords,
        Tickets(kerberos, identity.spnego, identity.qop) if kerberos is not None else None,
        Tokens(identity.jwt) if identity.jwt is not None else None,
        throttle,
    )


def _passwords(identity: Identity) -> Passwords | None:
    if identity.ldap is not None:
        return Directory(identity.ldap)
    if identity.password_file is not None:
        return PasswordFile(identity.password_file)
    if identity.custom:
        return Custom(identity.custom)
    return AnyPassword() if Auth.NONE in identity.methods else None
