"""One request to a REST API of Causeway, which blocks: call it in a thread."""

import http.client
import json
from typing import Any

from conf.secrets import SecretFile
from conf.topology import Endpoint
from console.errors import Refused, SourceDown
from proxy.protocol.request_guard import XSRF_HEADER

TIMEOUT = 12.0  # seconds for a step of the connection; a history page may take 8
MAX_ANSWER = 64 << 20  # bytes


def call(source: str, endpoint: Endpoint, token: SecretFile | None, method: str, path: str) -> Any:
    """The JSON of the answer. Raises SourceDown if there is none, and Refused with the error of the
    API."""
    status, data = _exchange(source, endpoint, token, method, path)
    try:
        answer = json.loads(data)
    except ValueError as error:
        raise SourceDown(source, f"{endpoint}: {error}") from error
    if status == http.client.UNAUTHORIZED:
        raise SourceDown(source, f"{endpoint} does not accept the token in {token}")
    if status != http.client.OK:
        raise Refused(str(answer.get("error", status)))
    return answer


def text(source: str, endpoint: Endpoint, path: str) -> str:
    """The text of an answer that needs no token. Raises SourceDown."""
    status, data = _exchange(source, endpoint, None, "GET", path)
    if status != http.client.OK:
        raise SourceDown(source, f"{endpoint}: status {status}")
    return data.decode(errors="replace")


def _exchange(
    source: str, endpoint: Endpoint, token: SecretFile | None, method: str, path: str
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=TIMEOUT)
    try:
        connection.request(method, path, headers=_headers(source, token))
        response = connection.getresponse()
        data = response.read(MAX_ANSWER + 1)
    except (OSError, http.client.HTTPException) as error:
        raise SourceDown(source, f"{endpoint}: {error}") from error
    finally:
        connection.close()
    if len(data) > MAX_ANSWER:
        raise SourceDown(source, f"an answer of more than {MAX_ANSWER >> 20} MB")
    return response.status, data


def _headers(source: str, token: SecretFile | None) -> dict[str, str]:
    headers = {XSRF_HEADER: "causeway"}
    if token is None:
        return headers
    try:
        return headers | {"Authorization": f"Bearer {token.read_text().strip()}"}
    except (OSError, UnicodeDecodeError) as error:
        raise SourceDown(source, f"its token cannot be read: {error}") from error
