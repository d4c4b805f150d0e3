"""A client of an endpoint. Its requests are answered one after the other.

Requests -> read_call -> Relay | Mutation | OwnMethods -> LookupRunner, Upstream -> metastore
"""

from collections.abc import AsyncIterator

from conf.errors import CausewayError
from metastore.errors import MalformedReply, MetastoreDown
from metastore.view.call import Request, read_call, read_request
from metastore.view.errors import CallerRefused, MessageTooLarge
from metastore.view.locations import ClusterView
from metastore.view.methods import Act, spec_of
from metastore.view.outbound import replies
from metastore.view.outbound.commit_refusals import refusal_message
from metastore.view.server import own_methods
from metastore.view.server.clients.callers import ViewCaller
from metastore.view.server.clients.client_view import ClientView
from metastore.view.server.clients.requests import Requests
from metastore.view.server.clients.token_calls import NAMES as TOKEN_CALLS
from metastore.view.server.clients.token_calls import TokenCalls
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.lookup_runner import LookupRunner
from metastore.view.server.mutation import Mutation
from metastore.view.server.own_methods import OwnMethods
from metastore.view.server.relay import Relay
from metastore.view.server.shared import Shared
from saslauth.framed_streams import Writer

GOODBYE = "shutdown"  # a call of fb303 without reply, which clients send before they disconnect


class ClientConnection:
    """Answers the requests of one client."""

    def __init__(
        self,
        view: ClusterView,
        shared: Shared,
        requests: Requests,
        writer: Writer,
        upstream: Upstream,
        caller: ViewCaller | None = None,
        token_calls: TokenCalls | None = None,
    ) -> None:
        """`caller` and `token_calls` are None if clients do not authenticate."""
        self._caller = caller
        self._token_calls = token_calls
        self._requests = requests
        self._shared = shared
        self._writer = writer
        self._upstream = upstream
        self._view = ClientView(view, caller)
        lookups = LookupRunner(upstream, shared)
        self._relay = Relay(upstream, lookups)
        self._mutation = Mutation(upstream, lookups, shared)
        self._own_methods = OwnMethods(self._view, lookups, shared, requests.is_gone)

    async def serve(self) -> None:
        """Answers requests until the client has gone.

        Raises MetastoreDown, MalformedReply, MessageTooLarge.
        """
        try:
            while (data := await self._requests.next()) is not None:
                await self._shared.ready.wait()
                request = read_request(data)
                if request.name == GOODBYE:
                    return
                await self._answer(request)
        finally:
            self._own_methods.client_lost()

    async def _answer(self, request: Request) -> None:
        try:
            async for piece in self._reply(request):
                await self._send(piece)
        except (MetastoreDown, MalformedReply, MessageTooLarge):
            raise  # closes the connection, whose state is unknown: the client opens another one
        except CausewayError as error:
            await self._send(_refusal(request, error))

    async def _reply(self, request: Request) -> AsyncIterator[bytes]:
        if self._caller is not None:
            self._caller.check_call(request.name)
        if self._token_calls is not None and request.name in TOKEN_CALLS:
            yield await self._token_calls.reply(request)
            return
        if request.name in own_methods.NAMES:
            yield await self._own_methods.reply(request)
            return
        call = read_call(request)
        view = self._view.of(call.cluster)
        if call.spec.act is Act.RELAY:
            async for piece in self._relay.reply(call, view):
                yield piece
        else:
            yield await self._mutation.reply(call, view)
        self._upstream.note(call.spec.name, call.data)

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _refusal(request: Request, error: CausewayError) -> bytes:
    """The reply to a refused request."""
    spec = spec_of(request.name) or own_methods.REFUSABLE.get(request.name)
    if spec is None and isinstance(error, CallerRefused):
        # Not an unknown method: callers would take this process for one without locks.
        return replies.internal_error(request.name, request.sequence, str(error))
    if spec is None:
        return replies.unknown_method(request.name, request.sequence, str(error))
    message = refusal_message(request, str(error))
    return replies.refusal(spec, request.name, request.sequence, message)
