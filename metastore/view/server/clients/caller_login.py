"""The log-in of a client of the view, in the messages of Thrift's SASL transport.

The mechanism GSSAPI is for a ticket, DIGEST-MD5 for a delegation token of the views.

A message has at most 64 KiB, and a negotiation at most `_STEPS` messages, within the time that a
client may be silent. A client that has not logged in counts as silent, so a newer one may get its
slot. Only the log has the reason why a ticket or token is invalid. A client that has proved its
principal, which may not speak for the cluster, gets that reason.
"""

import asyncio
import logging
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from conf.auth_to_local import AuthToLocal
from conf.logs.log_fields import extra
from conf.settings.security.authentication import Qop
from conf.settings.security.view_access import ViewAccess
from metastore.view.errors import CallerRefused
from metastore.view.server.clients.caller_tokens import CallerTokens
from metastore.view.server.clients.callers import ViewCaller, caller_of
from saslauth.errors import AuthBackendUnavailable, BadCredentials, SaslFailed
from saslauth.framed_streams import FramedReader, FramedWriter
from saslauth.gssapi_server import GssapiServer
from saslauth.negotiation import (
    BAD,
    COMPLETE,
    DIGEST_MD5,
    ERROR,
    GSSAPI,
    HEAD,
    OK,
    START,
    ServerContext,
    read_head,
    sasl_message,
)
from saslauth.tokens.digest_md5_server import DigestMd5Server

_STEPS = 8
_THREADS = 4
_FRAME = (128 << 20) + 4096  # bytes: a request, and what wrapping adds
_REFUSED = b"Authentication failed"
_log = logging.getLogger("causeway.view")


class CallerLogin:
    """The log-ins of a process's clients."""

    def __init__(
        self, access: ViewAccess, rules: AuthToLocal, tokens: CallerTokens | None = None
    ) -> None:
        """`tokens` is None if delegation tokens are not accepted. Raises BadSetting for a keytab
        without keys of the principal."""
        assert access.kerberos is not None
        self._access = access
        self._rules = rules
        self._tokens = tokens
        self._offered = tuple(Qop)[tuple(Qop).index(access.qop) :]
        self._gssapi = GssapiServer(
            access.kerberos, None, self._offered, lambda principal: principal
        )
        # A step may wait for the disk, because libkrb5 records the tickets that were used.
        self._threads = ThreadPoolExecutor(_THREADS, "view-login")

    async def log_in(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        cluster: str,
        patience: float,
    ) -> tuple[ViewCaller, tuple[FramedReader, FramedWriter]]:
        """Logs the client in within `patience` seconds; returns the caller and its streams.

        Raises SaslFailed after the client got an error, OSError, TimeoutError.
        """
        try:
            async with asyncio.timeout(patience):
                context, by_token = await self._context(reader, writer)
                name, token = await self._negotiate(reader, writer, context)
                address = str(writer.get_extra_info("peername", ("",))[0])
                caller = self._authorized(name, by_token, cluster, address)
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

    async def _context(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[ServerContext, bool]:
        """The negotiation of the mechanism that the client chose, and whether it is by token."""
        status, payload = await _receive(reader)
        if status in (BAD, ERROR):
            raise SaslFailed(f"the client gave up: {payload!r:.200}")
        if status == START and payload == GSSAPI.encode():
            return self._gssapi.sasl(), False
        if status == START and payload == DIGEST_MD5.encode() and self._tokens is not None:
            return DigestMd5Server(self._tokens.password, self._offered), True
        offered = GSSAPI if self._tokens is None else f"{GSSAPI}, {DIGEST_MD5}"
        await _send(writer, BAD, f"Unsupported mechanism type; offered: {offered}".encode())
        raise SaslFailed(f"the mechanism {payload!r:.40}")

    async def _negotiate(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ServerContext
    ) -> tuple[str, bytes]:
        """The name that the client has proved, and the last message for the client."""
        loop = asyncio.get_running_loop()
        for _ in range(_STEPS):
            status, payload = await _receive(reader)
            if status not in (OK, COMPLETE):
                raise SaslFailed("the client gave up")
            token, name = await loop.run_in_executor(self._threads, context.step, payload)
            if name is not None:
                return name, token
            await _send(writer, OK, token)
        raise BadCredentials("too many steps")

    def _authorized(self, name: str, by_token: bool, cluster: str, address: str) -> ViewCaller:
        """The caller of that name, which is a principal or a token's identifier in Base64. Raises
        CallerRefused if it may not speak for the cluster."""
        principal, owner = name, None
        if by_token and self._tokens is not None:
            token = self._tokens.read(b64decode(name))
            principal, owner = token.real_user, token.owner
        try:
            caller = caller_of(principal, self._access, self._rules)
            caller.check(cluster)
        except CallerRefused as error:
            fields = extra(user=principal, cluster=cluster, address=address)
            _log.warning("caller refused: %s", error, extra=fields)
            raise
        return caller if owner is None else replace(caller, user=owner, by_token=True)


async def _receive(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Reads the client's next message: its status and payload. Raises SaslFailed,
    IncompleteReadError."""
    status, length = read_head(await reader.readexactly(HEAD))
    return status, await reader.readexactly(length)


async def _send(writer: asyncio.StreamWriter, status: int, payload: bytes) -> None:
    writer.write(sasl_message(status, payload))
    await writer.drain()
