"""The authenticator of all methods but NONE: calls the back ends and counts failures.

Authentication back ends may block, so they run in a small thread pool. A cancelled log-in leaves
its thread running. Only the log has the reason of a rejection.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeVar

from conf.errors import Blame
from conf.logs.log_fields import extra
from proxy.auth.authenticator import Acceptor
from proxy.auth.login_throttle import LoginThrottle
from proxy.auth.thread_pool import DaemonThreads
from proxy.auth.user_names import throttle_key
from proxy.errors import AuthRejected
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from saslauth.negotiation import ServerContext
from saslauth.security_layer import SecurityLayer

_THREADS = 16
_STEPS = 8  # tokens of one negotiation
_MAX_TOKEN = 64 << 10  # bytes or characters
_ENTRY = "\0entry "  # prefix of a directory entry's name in the throttle; typed names have none
_log = logging.getLogger(__name__)
_T = TypeVar("_T")
OnEntry = Callable[[str], None]
"""Takes the name of the directory entry that a back end found for a typed name."""


class PasswordBackend(Protocol):
    def check(self, user: str, password: str, on_entry: OnEntry) -> str:
        """The name of the user with this password. May block.

        A back end in which several names lead to one directory entry calls `on_entry` with the
        entry's name before it tries the password; `on_entry` raises AuthBackendUnavailable after
        too many failures. Raises BadCredentials, AuthBackendUnavailable.
        """
        ...


class TokenBackend(Protocol):
    def check(self, token: str) -> str:
        """The user's name in a bearer token. May block.

        Raises BadCredentials, AuthBackendUnavailable.
        """
        ...


class GssapiBackend(Protocol):
    def sasl(self) -> ServerContext: ...

    def spnego(self) -> ServerContext: ...


class ThrottledAuthenticator:
    """An Authenticator. It rejects log-ins by a method whose back end is None."""

    def __init__(
        self,
        mechanisms: frozenset[str],
        passwords: PasswordBackend | None = None,
        gssapi: GssapiBackend | None = None,
        tokens: TokenBackend | None = None,
        throttle: LoginThrottle | None = None,
    ) -> None:
        self.mechanisms = mechanisms
        self._passwords = passwords
        self._gssapi = gssapi
        self._tokens = tokens
        self._throttle = LoginThrottle() if throttle is None else throttle
        self._throttle_lock = threading.Lock()
        self._threads = DaemonThreads(_THREADS, "identity")

    async def password(self, user: str, password: str, peer: str) -> str:
        backend = self._passwords
        if backend is None or not user or not password:
            raise AuthRejected
        return await self.check(
            lambda on_entry: backend.check(user, password, on_entry), user, peer, lambda name: name
        )

    async def bearer(self, token: str, peer: str) -> str:
        backend = self._tokens
        if backend is None or not token or len(token) > _MAX_TOKEN:
            raise AuthRejected
        return await self.check(lambda _: backend.check(token), "", peer, lambda name: name)

    def gssapi(self, peer: str) -> Acceptor:
        return self._acceptor(self._gssapi.sasl if self._gssapi is not None else None, peer)

    def spnego(self, peer: str) -> Acceptor:
        return self._acceptor(self._gssapi.spnego if self._gssapi is not None else None, peer)

    def _acceptor(self, make_context: Callable[[], ServerContext] | None, peer: str) -> Acceptor:
        if make_context is None:
            raise AuthRejected
        return _ThrottledAcceptor(self, make_context(), peer)

    async def check(
        self,
        attempt: Callable[[OnEntry], _T],
        user: str,
        peer: str,
        user_in: Callable[[_T], str | None],
    ) -> _T:
        """The result of `attempt`, which runs in a thread. Raises AuthRejected.

        `user_in` returns the user that a result logs in, or None. Failures are counted by a key
        that is the same for all spellings of the user's name, and by the directory entry's name.
        """
        typed_key = throttle_key(user)
        if self._is_throttled(typed_key, peer):
            raise AuthRejected
        keys = [typed_key]

        def on_entry(entry: str) -> None:
            keys.append(f"{_ENTRY}{entry}")
            if self._is_throttled(keys[-1], peer):
                raise AuthBackendUnavailable("too many failures", Blame.CLIENT)

        def counted_attempt() -> _T:
            # Other attempts may have failed while this one waited for its thread.
            if self._is_throttled(typed_key, peer):
                raise AuthBackendUnavailable("too many failures", Blame.CLIENT)
            try:
                result = attempt(on_entry)
            except BadCredentials:
                with self._throttle_lock:
                    self._throttle.failed(keys[0], peer, time.monotonic(), *keys[1:])
                raise
            if user and user_in(result) is not None:
                with self._throttle_lock:
                    for key in keys:
                        self._throttle.succeeded(key, peer)
            return result

        try:
            return await self._threads.run(counted_attempt)
        except BadCredentials as error:
            throttled = self._is_throttled(typed_key, peer)
            note = "; further attempts are rejected for now" if throttled else ""
            self._reject(user, peer, f"{error}{note}")
        except AuthBackendUnavailable as error:
            self._reject(user, peer, f"it cannot be checked: {error}", error.blame)

    def _is_throttled(self, key: str, peer: str) -> bool:
        with self._throttle_lock:
            return self._throttle.too_many(key, peer, time.monotonic())

    def _reject(self, user: str, peer: str, reason: str, blame: Blame = Blame.CLIENT) -> NoReturn:
        fields = extra(user=user[:80], address=peer, blame=blame.value)
        _log.warning("login of %r refused: %s", user[:80], reason, extra=fields)
        raise AuthRejected from None


class _ThrottledAcceptor:
    def __init__(
        self, authenticator: ThrottledAuthenticator, context: ServerContext, peer: str
    ) -> None:
        self._authenticator = authenticator
        self._context = context
        self._peer = peer
        self._steps = 0

    @property
    def layer(self) -> SecurityLayer | None:
        return self._context.layer

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        self._steps += 1
        if self._steps > _STEPS or len(token) > _MAX_TOKEN:
            raise AuthRejected
        return await self._authenticator.check(
            lambda _: self._context.step(token), "", self._peer, lambda result: result[1]
        )
