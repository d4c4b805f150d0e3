"""Connections of clients to the ports for operators, with TLS where the settings say so."""

import http.client
import ssl

from conf.settings.security.operator_access import OperatorAccess
from conf.topology import Endpoint


def connection_to(
    endpoint: Endpoint, access: OperatorAccess, timeout: float
) -> http.client.HTTPConnection:
    """A connection that is not open yet. With TLS the certificate has to be that of the endpoint's
    host, by the authorities of the settings. Raises OSError if these cannot be read."""
    if not access.use_tls:
        return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=timeout)
    context = ssl.create_default_context(cafile=access.ca and str(access.ca))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return http.client.HTTPSConnection(
        endpoint.host, endpoint.port, timeout=timeout, context=context
    )
