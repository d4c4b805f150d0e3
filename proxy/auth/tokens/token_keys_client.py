"""Verifies bearer tokens with keys from a file or an https URL, read again as they rotate."""

import ssl
import threading
import time
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler

from conf.settings.security.authentication import Jwt
from proxy.auth.errors import AuthBackendUnavailable
from proxy.auth.tokens.bearer_tokens import Key, read_keys, read_token_header, usable_keys, user_of

_AGE = 300.0  # seconds after which the keys are read again
_MIN_INTERVAL = 10.0  # seconds between two reads
_TIMEOUT = 5.0  # seconds
_MAX_SIZE = 1 << 20  # bytes


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: the operator configured this URL and no other."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class JwtVerifier:
    """The TokenBackend of one issuer. Several threads use it."""

    def __init__(self, settings: Jwt) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._keys: tuple[Key, ...] = ()
        self._read_at: float | None = None  # when the keys were read
        self._tried_at: float | None = None  # when reading them was last tried

    def check(self, token: str) -> str:
        """The user's name. Raises BadCredentials, AuthBackendUnavailable."""
        header = read_token_header(self._settings, token)
        keys = self._current_keys(_AGE)
        if not usable_keys(keys, header):
            keys = self._current_keys(_MIN_INTERVAL)  # the keys may have rotated
        return user_of(self._settings, token, keys)

    def key_count(self) -> int:
        """The number of keys, which are read if they are old. Raises AuthBackendUnavailable."""
        return len(self._current_keys(_AGE))

    def _current_keys(self, age: float) -> tuple[Key, ...]:
        """Keys that are at most `age` seconds old, or older ones if reading was tried just now.

        Raises AuthBackendUnavailable.
        """
        with self._lock:
            now = time.monotonic()
            due = self._read_at is None or now - self._read_at >= age
            if due and (self._tried_at is None or now - self._tried_at >= _MIN_INTERVAL):
                self._tried_at = now
                try:
                    self._keys = read_keys(self._text())
                except (OSError, ValueError, HTTPException) as error:
                    reason = f"{self._settings.jwks}: {type(error).__name__}"
                    raise AuthBackendUnavailable(reason) from None
                self._read_at = now
            if self._read_at is None or now - self._read_at >= 2 * _AGE:
                raise AuthBackendUnavailable(f"{self._settings.jwks}: not read lately")
            return self._keys

    def _text(self) -> str:
        url = urlsplit(self._settings.jwks)
        if url.scheme == "https":
            return self._fetch()
        path = unquote(url.path) if url.scheme else self._settings.jwks
        with open(path, encoding="utf-8") as file:
            return file.read(_MAX_SIZE)

    def _fetch(self) -> str:
        ca = str(self._settings.ca) if self._settings.ca is not None else None
        context = ssl.create_default_context(cafile=ca)
        opener = urllib.request.build_opener(
            ProxyHandler(), HTTPSHandler(context=context), _NoRedirects()
        )
        began, pieces, size = time.monotonic(), [], 0
        with opener.open(self._settings.jwks, timeout=_TIMEOUT) as reply:
            while piece := reply.read1(64 << 10):
                pieces.append(piece)
                size += len(piece)
                if size > _MAX_SIZE or time.monotonic() - began > _TIMEOUT:
                    raise ValueError("too large or too slow")
        return b"".join(pieces).decode()
