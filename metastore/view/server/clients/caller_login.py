"""The log-in of a client of the view: SASL GSSAPI, in Thrift's messages.

Limits: one message has at most 64 KiB and a negotiation at most `_STEPS` of them, within the time
that a client may be silent. A client that has not logged in counts as silent, so a newer one may
take its slot. The reason why a ticket is not good is in the log alone; that a principal may not
speak for the cluster is said to it, since by then it has proved who it is.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from conf.auth_to_local import AuthToLocal
from conf.logs.log_fields import extra
from conf.settings.security.authentication import Qop
from conf.settings.security.view_access import ViewAccess
from metastore.view.errors import CallerRefused
from metastore.view.server.clients.callers import Caller, caller_of
from saslauth.errors import AuthBackendUnavailable, BadCredentials, SaslFailed
from saslauth.framed_streams import FramedReader, FramedWriter
from saslauth.gssapi_server import GssapiServer
from saslauth.negotiation import (
    BAD,
    COMPLETE,
    ERROR,
    GSSAPI,
    HEAD,
    OK,
    START,
    GssapiContext,
    read_head,
    sasl_message,
)

_STEPS = 8
_THREADS = 4
_FRAME = (128 << 20) + 4096  # bytes: a request, and what wrapping adds
_REFUSED = b"Authentication failed"
_log = logging.getLogger("causeway.view")


class CallerLogin:
    """The log-ins of a process's clients."""

    def __init__(self, access: ViewAccess, rules: AuthToLocal) -> None:
        """Raises BadSetting for a keytab without the keys of the principal."""
        assert access.kerberos is not None
        self._access = access
        self._rules = rules
        offered = tuple(Qop)[tuple(Qop).index(access.qop) :]
        self._gssapi = GssapiServer(access.kerberos, None, offered, lambda principal: principal)
        # A step may wait for the disk, where libkrb5 notes the tickets that it has seen.
        self._threads = ThreadPoolExecutor(_THREADS, "view-login")

    async def log_in(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        cluster: str,
        patience: float,
    ) -> tuple[Caller, tuple[FramedReader, FramedWriter]]:
        """The caller, and its streams after the log-in, of at most `patience` seconds.

        Raises SaslFailed, after the client got the reason; OSError, TimeoutError.
        """
        context = self._gssapi.sasl()
        try:
            async with asyncio.timeout(patience):
                principal, token = await self._negotiate(reader, writer, context)
                address = str(writer.get_extra_info("peername", ("",))[0])
                caller = self._authorized(principal, cluster, address)
                await _send(writer, COMPLETE, token)
        except (BadCredentials, AuthBackendUnavailable) as error:
            await _send(writer, BAD, _REFUSED)
            raise SaslFailed(str(error)) from None
        except CallerRefused as error:
            await _send(writer, ERROR, str(error).encode())
            raise SaslFailed(str(error)) from None
        except asyncio.IncompleteReadError:
            raise ConnectionResetError("the client went away in its log-in") from None
        layer = context.layer
        return caller, (FramedReader(reader, layer, _FRAME), FramedWriter(writer, layer))

    async def _negotiate(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: GssapiContext
    ) -> tuple[str, bytes]:
        """The principal, and the last token for the client."""
        status, payload = await _receive(reader)
        if status in (BAD, ERROR):
            raise SaslFailed(f"the client gave up: {payload!r:.200}")
        if status != START or payload != GSSAPI.encode():
            await _send(writer, BAD, b"Unsupported mechanism type; offered: GSSAPI")
            raise SaslFailed(f"the mechanism {payload!r:.40}")
        loop = asyncio.get_running_loop()
        for _ in range(_STEPS):
            status, payload = await _receive(reader)
            if status not in (OK, COMPLETE):
                raise SaslFailed("the client gave up")
            token, principal = await loop.run_in_executor(self._threads, context.step, payload)
            if principal is not None:
                return principal, token
            await _send(writer, OK, token)
        raise BadCredentials("too many steps")

    def _authorized(self, principal: str, cluster: str, address: str) -> Caller:
        try:
            caller = caller_of(principal, self._access, self._rules)
            caller.check(cluster)
        except CallerRefused as error:
            fields = extra(user=principal, cluster=cluster, address=address)
            _log.warning("caller refused: %s", error, extra=fields)
            raise
        return caller


async def _receive(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Raises SaslFailed, IncompleteReadError."""
    status, length = read_head(await reader.readexactly(HEAD))
    return status, await reader.readexactly(length)


async def _send(writer: asyncio.StreamWriter, status: int, payload: bytes) -> None:
    writer.write(sasl_message(status, payload))
    await writer.drain()
