"""Delegation tokens in Hadoop's files."""

from base64 import urlsafe_b64decode

from saslauth.tokens.delegation_token import DelegationToken, text_of_token
from saslauth.tokens.writables import counted, number


def file_of(*tokens: DelegationToken) -> bytes:
    """A file with these tokens, and without further secrets."""
    entries = [counted(b"alias") + _fields_of(token) for token in tokens]
    return b"HDTS\0" + number(len(entries)) + b"".join(entries) + number(0)


def _fields_of(token: DelegationToken) -> bytes:
    text = text_of_token(token)
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
