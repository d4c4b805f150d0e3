"""The authenticator of everything but NONE: asks those who know, counts failures, keeps secrets.

Those who know may block: they are asked in a few threads, and who waits for one is forgotten when
its client goes. Why somebody is not let in is in our log, and nowhere else.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeVar

from conf.errors import Blame
from conf.log_fields import extra
from proxy.auth.authenticator import Acceptor
from proxy.auth.errors import Unsure, Wrong
from proxy.auth.login_throttle import LoginThrottle
from proxy.auth.thread_pool import Threads
from proxy.auth.user_names import person
from proxy.errors import Denied
from proxy.server.sasl_transport import Layer

_THREADS = 16
_STEPS = 8  # tokens of one negotiation
_LONGEST_TOKEN = 64 << 10
_ENTRY = "\0entry "  # before a directory's own name, which is no name that anybody types
_log = logging.getLogger(__name__)
_T = TypeVar("_T")
Found = Callable[[str], None]


class Passwords(Protocol):
    def check(self, user: str, password: str, found: Found) -> str:
        """The user's name, as it is known from here on. May block. Raises Wrong, Unsure.

        Where the user has an entry that other names find as well, `found` is told its name before
        the password is tried; it raises Unsure after too many failures.
        """
        ...


class Tokens(Protocol):
    def check(self, token: str) -> str:
        """The name that a bearer's token proves. May block. Raises Wrong, Unsure."""
        ...


class Context(Protocol):
    @property
    def layer(self) -> Layer | None:
        """What protects all that comes after the name is proved; None: nothing."""
        ...

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        """Our next token, and the name once it is proved. May block. Raises Wrong, Unsure."""
        ...


class Tickets(Protocol):
    def sasl(self) -> Context: ...

    def spnego(self) -> Context: ...


class Gate:
    """An Authenticator. What is None is not offered."""

    def __init__(
        self,
        mechanisms: frozenset[str],
        passwords: Passwords | None = None,
        tickets: Tickets | None = None,
        tokens: Tokens | None = None,
        throttle: LoginThrottle | None = None,
    ) -> None:
        self.mechanisms = mechanisms
        self._passwords = passwords
        self._tickets = tickets
        self._tokens = tokens
        self._throttle = LoginThrottle() if throttle is None else throttle
        self._counting = threading.Lock()
        self._threads = Threads(_THREADS, "identity")

    async def password(self, user: str, password: str, peer: str) -> str:
        knows = self._passwords
        if knows is None or not user or not password:
            raise Denied
        return await self.ask(
            lambda found: knows.check(user, password, found), user, peer, lambda name: name
        )

    async def bearer(self, token: str, peer: str) -> str:
        knows = self._tokens
        if knows is None or not token or len(token) > _LONGEST_TOKEN:
            raise Denied
        return await self.ask(lambda _: knows.check(token), "", peer, lambda name: name)

    def gssapi(self, peer: str) -> Acceptor:
        return self._acceptor(self._tickets.sasl if self._tickets is not None else None, peer)

    def spnego(self, peer: str) -> Acceptor:
        return self._acceptor(self._tickets.spnego if self._tickets is not None else None, peer)

    def _acceptor(self, make: Callable[[], Context] | None, peer: str) -> Acceptor:
        if make is None:
            raise Denied
        return _Negotiation(self, make(), peer)

    async def ask(
        self, check: Callable[[Found], _T], user: str, peer: str, named: Callable[[_T], str | None]
    ) -> _T:
        """What `check` says, in a thread; `named` says whom that lets in. Raises Denied.

        Attempts are counted by person: all names that may mean the same one, and the directory's
        own name of it.
        """
        typed = person(user)
        if self._too_many(typed, peer):
            raise Denied
        names = [typed]

        def found(entry: str) -> None:
            names.append(f"{_ENTRY}{entry}")
            if self._too_many(names[-1], peer):
                raise Unsure("too many failures", Blame.CLIENT)

        def counted() -> _T:
            """Others may have failed while this one waited for its thread."""
            if self._too_many(typed, peer):
                raise Unsure("too many failures", Blame.CLIENT)
            try:
                answer = check(found)
            except Wrong:
                with self._counting:
                    self._throttle.failed(names[0], peer, time.monotonic(), *names[1:])
                raise
            if user and named(answer) is not None:
                with self._counting:
                    for each in names:
                        self._throttle.succeeded(each, peer)
            return answer

        try:
            return await self._threads.run(counted)
        except Wrong as error:
            later = "; no more is heard for now" if self._too_many(typed, peer) else ""
            self._refuse(user, peer, f"{error}{later}")
        except Unsure as error:
            self._refuse(user, peer, f"it cannot be checked: {error}", error.blame)

    def _too_many(self, user: str, peer: str) -> bool:
        with self._counting:
            return self._throttle.too_many(user, peer, time.monotonic())

    def _refuse(self, user: str, peer: str, reason: str, blame: Blame = Blame.CLIENT) -> NoReturn:
        fields = extra(user=user[:80], address=peer, blame=blame.value)
        _log.warning("login of %r refused: %s", user[:80], reason, extra=fields)
        raise Denied from None


class _Negotiation:
    """An Acceptor."""

    def __init__(self, gate: Gate, context: Context, peer: str) -> None:
        self._gate = gate
        self._context = context
        self._peer = peer
        self._steps = 0

    @property
    def layer(self) -> Layer | None:
        return self._context.layer

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        self._steps += 1
        if self._steps > _STEPS or len(token) > _LONGEST_TOKEN:
            raise Denied
        return await self._gate.ask(
            lambda _: self._context.step(token), "", self._peer, lambda answer: answer[1]
        )
