"""The keys that tokens are checked with: a file, or an https URL, read again as they rotate."""

import ssl
import threading
import time
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler

from conf.settings.authentication import Jwt
from proxy.auth.bearer_tokens import Key, fitting, head_of, read_keys, user_of
from proxy.auth.errors import Unsure

_AGE = 300.0  # seconds after which keys are asked for again
_SOONEST = 10.0  # seconds between two requests, whatever tokens say
_WAIT = 5.0
_LARGEST = 1 << 20


class _NoRedirects(HTTPRedirectHandler):
    """What is not where it is said to be is not trusted."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class Tokens:
    """One issuer's. Used by several threads."""

    def __init__(self, settings: Jwt) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._keys: tuple[Key, ...] = ()
        self._read: float | None = None  # when the keys were read
        self._tried: float | None = None  # when they were last asked for

    def check(self, token: str) -> str:
        """The user's name. Raises Wrong, Unsure."""
        head = head_of(self._settings, token)
        keys = self._known(_AGE)
        if not fitting(keys, head):
            keys = self._known(_SOONEST)  # rotated since, or nobody's
        return user_of(self._settings, token, keys)

    def _known(self, age: float) -> tuple[Key, ...]:
        """The keys, no older than that unless they were asked for just now. Raises Unsure."""
        with self._lock:
            now = time.monotonic()
            due = self._read is None or now - self._read >= age
            if due and (self._tried is None or now - self._tried >= _SOONEST):
                self._tried = now
                try:
                    self._keys = read_keys(self._text())
                except (OSError, ValueError, HTTPException) as error:
                    raise Unsure(f"{self._settings.jwks}: {type(error).__name__}") from None
                self._read = now
            if self._read is None or now - self._read >= 2 * _AGE:
                raise Unsure(f"{self._settings.jwks}: not read lately")
            return self._keys

    def _text(self) -> str:
        where = urlsplit(self._settings.jwks)
        if where.scheme == "https":
            return self._fetched()
        path = unquote(where.path) if where.scheme else self._settings.jwks
        with open(path, encoding="utf-8") as file:
            return file.read(_LARGEST)

    def _fetched(self) -> str:
        ca = str(self._settings.ca) if self._settings.ca is not None else None
        context = ssl.create_default_context(cafile=ca)
        opener = urllib.request.build_opener(
            ProxyHandler(), HTTPSHandler(context=context), _NoRedirects()
        )
        began, pieces, size = time.monotonic(), [], 0
        with opener.open(self._settings.jwks, timeout=_WAIT) as reply:
            while piece := reply.read1(64 << 10):
                pieces.append(piece)
                size += len(piece)
                if size > _LARGEST or time.monotonic() - began > _WAIT:
                    raise ValueError("too large or too slow")
        return b"".join(pieces).decode()
