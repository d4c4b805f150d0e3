"""Delegation tokens of the views, for clients that have no ticket, such as Spark's executors.

The password of a token is a MAC of its identifier by a key of `view.token.key.file`, which all
processes of the views have. So each process accepts the tokens of all others, also after a restart.
Tokens are not stored, so none can be cancelled. When a token is used, `view.callers` says for which
clusters its principal may speak.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping

from conf.errors import BadSetting
from conf.secrets import SecretFile
from saslauth.errors import BadCredentials, SaslFailed
from saslauth.tokens.delegation_token import DelegationToken, text_of_token, token_of_text
from saslauth.tokens.token_identifier import TokenIdentifier, read_identifier

_SHORTEST_KEY = 32  # characters
_NUMBER = (1 << 31) - 1  # the limit of Hadoop's numbers of keys and tokens
_PURPOSE = b"a delegation token of Causeway's views\0"


class CallerTokens:
    """Issues tokens and verifies them. The file with the keys is read for each token, so that keys
    can be changed at run time."""

    def __init__(
        self, keys: SecretFile, lifetime: float, now: Callable[[], float] = time.time
    ) -> None:
        """`lifetime` is in seconds. Raises BadSetting for a file without usable keys."""
        self._file = keys
        self._lifetime = lifetime
        self._now = now
        try:
            self._keys()
        except BadCredentials as error:
            raise BadSetting(f"{error}.") from None

    def issue(self, owner: str, renewer: str, principal: str) -> str:
        """The text of a new token for `principal`, which logs in as the user `owner`.

        Raises BadCredentials for a file without usable keys.
        """
        number, key = next(iter(self._keys().items()))
        now = round(self._now() * 1000)
        ends = now + round(self._lifetime * 1000)
        sequence = secrets.randbelow(_NUMBER)
        identifier = TokenIdentifier(
            owner, renewer, principal, now, ends, sequence, number
        ).encoded()
        return text_of_token(DelegationToken(identifier, _password(key, identifier)))

    def password(self, identifier: bytes) -> bytes:
        """The password of the token with this identifier. Raises BadCredentials for a token of a
        key that the file does not have."""
        key = self._keys().get(_read(identifier).key)
        if key is None:
            raise BadCredentials("a token of a key that view.token.key.file does not have")
        return _password(key, identifier)

    def read(self, identifier: bytes) -> TokenIdentifier:
        """Decodes the identifier of a token whose password was verified. Raises BadCredentials if
        the token has ended."""
        token = _read(identifier)
        if token.ends <= self._now() * 1000:
            raise BadCredentials(f"the token of {token.owner} has ended")
        return token

    def check(self, text: str) -> TokenIdentifier:
        """Verifies a token's text and decodes its identifier. Raises BadCredentials for a token
        that the views did not issue, or that has ended."""
        try:
            token = token_of_text(text)
        except SaslFailed as error:
            raise BadCredentials(str(error)) from None
        if not hmac.compare_digest(token.password, self.password(token.identifier)):
            raise BadCredentials("the password of another token")
        return self.read(token.identifier)

    def _keys(self) -> Mapping[int, bytes]:
        """The keys in the file, by their numbers. New tokens are made with the first."""
        try:
            lines = self._file.read_text().split()
        except (OSError, UnicodeDecodeError) as error:
            raise BadCredentials(f"{self._file}: {error}") from None
        if not lines or any(len(line) < _SHORTEST_KEY for line in lines):
            raise BadCredentials(
                f"{self._file} needs lines of at least {_SHORTEST_KEY} characters, each a key"
            )
        return {_number(line.encode()): line.encode() for line in lines}


def _number(key: bytes) -> int:
    return int.from_bytes(hashlib.sha256(_PURPOSE + key).digest()[:4], "big") & _NUMBER


def _password(key: bytes, identifier: bytes) -> bytes:
    return hmac.new(key, _PURPOSE + identifier, "sha256").digest()


def _read(identifier: bytes) -> TokenIdentifier:
    try:
        return read_identifier(identifier)
    except SaslFailed as error:
        raise BadCredentials(str(error)) from None
