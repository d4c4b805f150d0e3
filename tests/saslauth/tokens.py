"""Delegation tokens as Hadoop writes them."""

from base64 import urlsafe_b64encode

from saslauth.delegation_token import DelegationToken


def text_of(token: DelegationToken) -> str:
    """The token in one line."""
    return urlsafe_b64encode(fields_of(token)).decode().rstrip("=")


def fields_of(token: DelegationToken) -> bytes:
    fields = (token.identifier, token.password, token.kind.encode(), token.service.encode())
    return b"".join(map(counted, fields))


def counted(data: bytes) -> bytes:
    """The data after its length, a VInt."""
    size = len(data)
    if size <= 127:
        return bytes((size,)) + data
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return (-112 - len(digits)).to_bytes(1, "big", signed=True) + digits + data
