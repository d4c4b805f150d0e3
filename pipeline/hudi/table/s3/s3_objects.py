"""Writes objects of S3 on the condition that they did not change since they were read.

Arrow's client has no conditional requests, so they are made here: `If-None-Match: *` for a new
object, `If-Match` with the ETag for an existing one. S3 puts an object whole or not at all.
"""

import hashlib
import http.client
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from pipeline.hudi.errors import StorageFault
from pipeline.hudi.table.s3.aws_credentials import find_keys
from pipeline.hudi.table.s3.aws_signature import AwsKeys, signed_headers, url_path

_LARGEST = 5 << 30  # bytes of one PUT
_BLOCK = 1 << 20
_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds
_MARK = "x-amz-meta-causeway-pull"
_MISSING, _CONFLICT, _CHANGED = 404, 409, 412
_REPEATED = frozenset({_CONFLICT, 429, 500, 502, 503, 504})
_CODE = re.compile(rb"<Code>([^<]{1,100})</Code>")


@dataclass(frozen=True, slots=True)
class S3Place:
    """A bucket at an endpoint. `host` may have a port; `prefix` is the path before keys: the bucket
    where it is not in the host. `keys` is called for each request, because keys of a machine expire
    within hours; it returns None for anonymous requests. `extra` are headers of every PUT.
    """

    secure: bool
    host: str
    prefix: str
    region: str
    keys: Callable[[], AwsKeys | None]
    extra: Mapping[str, str]
    attempts: int
    request_timeout: float

    @classmethod
    def of(
        cls, bucket: str, arguments: Mapping[str, object], region: str, extra: Mapping[str, str]
    ) -> "S3Place":
        """`arguments` as `s3_arguments` returns them."""
        endpoint = str(arguments.get("endpoint_override") or _amazon(region))
        in_path = not arguments.get("force_virtual_addressing", "." not in bucket)
        return cls(
            arguments.get("scheme", "https") == "https",
            endpoint if in_path else f"{bucket}.{endpoint}",
            f"/{bucket}" if in_path else "",
            region,
            lambda: _keys(arguments),
            extra,
            int(str(arguments["max_attempts"])),
            float(str(arguments["request_timeout"])),
        )


class S3Objects:
    """The objects of one bucket, by their keys. Requests that fail are repeated a limited number
    of times. Each method raises StorageFault.
    """

    def __init__(self, place: S3Place) -> None:
        self._place = place

    def etag(self, key: str) -> str | None:
        """The ETag of an object; None when it does not exist."""
        return self._head(key).get("etag")

    def put(self, key: str, body: IO[bytes], expected: str | None) -> bool:
        """Writes the object if its ETag is `expected` (None: if it does not exist). Returns whether
        this call wrote it. After an error the object may have been written.
        """
        length, digest = _measured(body)
        if length > _LARGEST:
            raise StorageFault(f"{key} would have {length:,} bytes, more than one PUT takes.")
        own = secrets.token_hex(16)
        condition = {"if-none-match": "*"} if expected is None else {"if-match": expected}
        headers = {**self._place.extra, **condition, _MARK: own, "content-length": str(length)}
        status, _ = self._repeated("PUT", key, headers, digest, body)
        if status in (_CHANGED, _MISSING):  # 404: the object to replace was deleted
            # An attempt whose reply was lost may have written it.
            return self._head(key).get(_MARK) == own
        return True

    def _head(self, key: str) -> dict[str, str]:
        status, headers = self._repeated("HEAD", key, {}, hashlib.sha256().hexdigest(), None)
        return {} if status == _MISSING else headers

    def _repeated(
        self, method: str, key: str, headers: Mapping[str, str], digest: str, body: IO[bytes] | None
    ) -> tuple[int, dict[str, str]]:
        """Repeats a request until it succeeds. Returns the status (2xx, 404, 412) and headers of
        the reply. Raises StorageFault.
        """
        reason, pause = "", _PAUSE
        for attempt in range(self._place.attempts):
            if attempt:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            try:
                status, found, code = self._once(method, key, headers, digest, body)
            except (OSError, http.client.HTTPException) as fault:
                reason = f"{type(fault).__name__}: {fault}"
                continue
            if status < 300 or status in (_MISSING, _CHANGED):
                return status, found
            reason = f"{status} {code}".strip()
            if status not in _REPEATED:
                break
        raise StorageFault(f"{method} of {key} in {self._place.host} failed: {reason}.")

    def _once(
        self, method: str, key: str, headers: Mapping[str, str], digest: str, body: IO[bytes] | None
    ) -> tuple[int, dict[str, str], str]:
        place = self._place
        path = f"{place.prefix}/{key}"
        full = {"host": place.host, **headers}
        if (keys := place.keys()) is not None:
            now = datetime.now(UTC)
            full = signed_headers(method, path, full, digest, keys, place.region, now)
        kind = http.client.HTTPSConnection if place.secure else http.client.HTTPConnection
        connection = kind(place.host, timeout=place.request_timeout)
        try:
            if body is not None:
                body.seek(0)
            connection.request(method, url_path(path), body, full)
            answer = connection.getresponse()
            content = answer.read()
            code = _CODE.search(content)
            names = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, names, code[1].decode("ascii", "replace") if code else ""
        finally:
            connection.close()


def _amazon(region: str) -> str:
    return f"s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _keys(arguments: Mapping[str, object]) -> AwsKeys | None:
    if arguments.get("anonymous"):
        return None
    access, secret = arguments.get("access_key"), arguments.get("secret_key")
    if access is None or secret is None:
        return find_keys()
    token = arguments.get("session_token")
    return AwsKeys(str(access), str(secret), None if token is None else str(token))


def _measured(body: IO[bytes]) -> tuple[int, str]:
    """Length and SHA-256 of a file's content."""
    body.seek(0)
    length, digest = 0, hashlib.sha256()
    while block := body.read(_BLOCK):
        length += len(block)
        digest.update(block)
    return length, digest.hexdigest()
