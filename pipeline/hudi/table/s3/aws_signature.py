"""Signatures of requests to S3: AWS Signature Version 4, with the hash of the body. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

_ALGORITHM = "AWS4-HMAC-SHA256"
_UNESCAPED = "/-_.~"


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """An access key. `token` is None for a key without an end."""

    access: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def url_path(path: str) -> str:
    """An object's path in a URL, and in its signature."""
    return quote(path, safe=_UNESCAPED)


def signed_headers(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body_hash: str,
    keys: AwsKeys,
    region: str,
    now: datetime,
) -> dict[str, str]:
    """All headers of a request without a query, `authorization` among them.

    `headers` have lower-case names, `host` among them. `body_hash` is SHA-256 in hexadecimal, `now`
    is in UTC.
    """
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    full = {**headers, "x-amz-content-sha256": body_hash, "x-amz-date": moment}
    if keys.token:
        full["x-amz-security-token"] = keys.token
    names = ";".join(sorted(full))
    lines = [f"{name}:{full[name].strip()}" for name in sorted(full)]
    request = "\n".join([method, url_path(path), "", *lines, "", names, body_hash])
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    signature = _hmac(
        _signing_key(keys.secret, scope), f"{_ALGORITHM}\n{moment}\n{scope}\n{digest}"
    )
    credential = f"Credential={keys.access}/{scope}"
    full["authorization"] = (
        f"{_ALGORITHM} {credential},SignedHeaders={names},Signature={signature.hex()}"
    )
    return full


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
