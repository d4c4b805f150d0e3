"""Opens connections to the ports for operators, with TLS if the settings require it."""

import http.client
import ssl

from conf.settings.security.operator_access import OperatorAccess
from conf.topology import Endpoint


def connection_to(
    endpoint: Endpoint, access: OperatorAccess, timeout: float
) -> http.client.HTTPConnection:
    """A connection that is not open yet. With TLS it accepts only a certificate for the endpoint's
    host by an authority of the settings. Raises OSError if the authorities cannot be read."""
    if not access.use_tls:
        return http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=timeout)
    context = ssl.create_default_context(cafile=access.ca and str(access.ca))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return http.client.HTTPSConnection(
        endpoint.host, endpoint.port, timeout=timeout, context=context
    )
