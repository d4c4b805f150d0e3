"""Servers that accept tickets, with the proxy's user names for principals."""

from conf.settings.security.authentication import KerberosService, Qop
from proxy.auth.user_names import name_of_principal
from saslauth.gssapi_server import GssapiServer


def accepting(
    service: KerberosService, spnego: KerberosService | None = None, *offered: Qop
) -> GssapiServer:
    """Offers no protection of messages unless `offered` says so."""
    return GssapiServer(
        service,
        spnego,
        offered or (Qop.AUTH,),
        lambda principal: name_of_principal(principal, service.realm),
    )
