"""Requests to an issuer of tokens, with limits of size and time. They block: use a thread."""

import ssl
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler

MAX_SIZE = 1 << 20  # bytes of an answer
_TIMEOUT = 5.0  # seconds for each socket operation, and for the whole body


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: the operator configured this URL and no other."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class ErrorAnswer(OSError):
    """An answer with an error status; `body` is its text."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"status {status}")
        self.body = body


def fetch(
    url: str,
    ca: Path | None,
    form: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """The body of the answer to GET, or to POST with a form. The certificate is verified.

    Raises OSError, ErrorAnswer, HTTPException, and ValueError for an answer that is too large or
    too slow.
    """
    context = ssl.create_default_context(cafile=str(ca) if ca is not None else None)
    opener = urllib.request.build_opener(
        ProxyHandler(), HTTPSHandler(context=context), _NoRedirects()
    )
    request = urllib.request.Request(url, form, dict(headers or {}))
    try:
        with opener.open(request, timeout=_TIMEOUT) as reply:
            return _read(reply)
    except HTTPError as error:
        with error:
            raise ErrorAnswer(error.code, _read(error)) from None


def _read(reply: Any) -> bytes:
    began, pieces, size = time.monotonic(), list[bytes](), 0
    while piece := reply.read1(64 << 10):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_SIZE or time.monotonic() - began > _TIMEOUT:
            raise ValueError("too large or too slow")
    return b"".join(pieces)
