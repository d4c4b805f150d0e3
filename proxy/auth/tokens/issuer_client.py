"""Reads the configuration and keys of an OpenID Connect issuer, and verifies its tokens."""

import threading
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

from conf.settings.security.authentication import Jwt
from conf.settings.security.operator_issuer import OperatorIssuer
from proxy.auth.tokens.https_client import fetch
from proxy.auth.tokens.issuer import Provider, configuration_url, read_provider
from proxy.auth.tokens.token_keys_client import JwtVerifier
from saslauth.errors import AuthBackendUnavailable

_AGE = 3600.0  # seconds after which the configuration is read again
_MIN_INTERVAL = 10.0  # seconds between two tries


class IssuerClient:
    """Verifies tokens that are for one of `audience`. Several threads use it; its methods block."""

    def __init__(self, issuer: OperatorIssuer, audience: tuple[str, ...]) -> None:
        assert audience, "a token that is for anybody proves nothing"
        self._issuer = issuer
        self._audience = audience
        self._lock = threading.Lock()
        self._provider: Provider | None = None
        self._verifier: JwtVerifier | None = None
        self._due = 0.0  # when the configuration is read next
        self._failure = ""

    def provider(self) -> Provider:
        """The configuration, at most an hour old unless it cannot be read again.

        Raises AuthBackendUnavailable if it was never read.
        """
        return self._current()[0]

    def key_count(self) -> int:
        """The number of keys that verify tokens. Raises AuthBackendUnavailable."""
        return self._current()[1].key_count()

    def claims(self, token: str) -> Mapping[str, Any]:
        """The claims of a valid token. Raises BadCredentials, AuthBackendUnavailable."""
        return self._current()[1].claims(token)

    def _current(self) -> tuple[Provider, JwtVerifier]:
        with self._lock:
            now = time.monotonic()
            if now >= self._due or self._due == 0.0:
                self._due = now + _MIN_INTERVAL
                self._read(now)
            if self._provider is None or self._verifier is None:
                raise AuthBackendUnavailable(self._failure)
            return self._provider, self._verifier

    def _read(self, now: float) -> None:
        url = self._issuer.url
        try:
            provider = read_provider(fetch(configuration_url(url), self._issuer.ca), url)
        except (OSError, HTTPException, ValueError) as error:
            self._failure = f"{url}: {error}"
            return
        if self._provider is None or provider.keys != self._provider.keys:
            self._verifier = JwtVerifier(
                Jwt(provider.keys, url, self._audience, ca=self._issuer.ca)
            )
        self._provider, self._due = provider, now + _AGE
