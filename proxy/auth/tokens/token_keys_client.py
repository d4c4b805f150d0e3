"""Verifies bearer tokens with keys from a file or an https URL, read again as they rotate."""

import threading
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit

from conf.settings.security.authentication import Jwt
from proxy.auth.tokens.bearer_tokens import (
    Key,
    claimed_name,
    claims_of,
    read_keys,
    read_token_header,
    usable_keys,
)
from proxy.auth.tokens.https_client import MAX_SIZE, fetch
from saslauth.errors import AuthBackendUnavailable

_AGE = 300.0  # seconds after which the keys are read again
_MIN_INTERVAL = 10.0  # seconds between two reads


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
        return claimed_name(self.claims(token), self._settings.user_claim)

    def claims(self, token: str) -> Mapping[str, Any]:
        """The claims of a valid token. Raises BadCredentials, AuthBackendUnavailable."""
        header = read_token_header(self._settings, token)
        keys = self._current_keys(_AGE)
        if not usable_keys(keys, header):
            keys = self._current_keys(_MIN_INTERVAL)  # the keys may have rotated
        return claims_of(self._settings, token, keys)

    def key_count(self) -> int:
        """The number of keys, read again if they are old. Raises AuthBackendUnavailable."""
        return len(self._current_keys(_AGE))

    def _current_keys(self, age: float) -> tuple[Key, ...]:
        """Keys that are at most `age` seconds old, or older ones if reading them failed just now.

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
                raise AuthBackendUnavailable(f"{self._settings.jwks}: the keys are too old")
            return self._keys

    def _text(self) -> str:
        url = urlsplit(self._settings.jwks)
        if url.scheme in ("https", "http"):
            return fetch(self._settings.jwks, self._settings.ca).decode()
        path = unquote(url.path) if url.scheme else self._settings.jwks
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_SIZE)
