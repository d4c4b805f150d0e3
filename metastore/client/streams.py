"""Opens streams of asyncio to a metastore or a view, logged in as the settings say."""

import asyncio
import ssl

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.login import LARGEST_FRAME, mechanism, tls_context
from saslauth.errors import SaslFailed
from saslauth.framed_streams import Reader, Writer, log_in
from saslauth.negotiation import Mechanism

CHUNK = 256 * 1024


async def open_streams(
    endpoint: Endpoint, login: MetastoreLogin, own: Mechanism | None = None
) -> tuple[Reader, Writer]:
    """Opens streams to the endpoint and logs in, by the mechanism `own` or else that of `login`. It
    has no time-out of its own.

    Raises OSError, also if the log-in fails; ConnectionResetError if TLS fails.
    """
    try:
        reader, writer = await asyncio.open_connection(
            endpoint.host, endpoint.port, limit=CHUNK, ssl=tls_context(login)
        )
    except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
        text = f"no TLS handshake: {error}" if login.tls else str(error)
        raise ConnectionResetError(text) from error
    try:
        chosen = own or await asyncio.to_thread(mechanism, login, endpoint.host)
        if chosen is None:
            return reader, writer
        return await log_in(reader, writer, chosen, LARGEST_FRAME)
    except SaslFailed as error:
        writer.close()
        raise PermissionError(f"the log-in to {endpoint} failed: {error}") from error
    except BaseException:
        writer.close()
        raise
