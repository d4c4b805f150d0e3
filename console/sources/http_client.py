"""Calls a REST API of Causeway. The functions block, so call them in a thread."""

import http.client
import json
from dataclasses import dataclass, replace
from typing import Any

from conf.secrets import SecretFile
from conf.settings.security.operator_access import OperatorAccess
from conf.topology import Endpoint
from console.errors import Refused, SourceDown
from proxy.administration.operator_client import connection_to
from proxy.administration.operator_tokens import first_token
from proxy.protocol.request_guard import XSRF_HEADER

TIMEOUT = 12.0  # seconds for each step of a connection; a page of the history may take 8
MAX_ANSWER = 64 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Api:
    """A REST API. `source` is its name for users, `token` the file with the token to send."""

    source: str
    endpoint: Endpoint
    access: OperatorAccess
    token: SecretFile | None = None


def call(api: Api, method: str, path: str) -> Any:
    """The response as JSON. Raises SourceDown if the API does not answer or fails, and Refused with
    the API's error."""
    source, endpoint = api.source, api.endpoint
    status, data = _exchange(api, method, path)
    try:
        answer = json.loads(data)
    except ValueError as error:
        raise SourceDown(source, f"{endpoint}: {error}") from error
    if status == http.client.UNAUTHORIZED:
        raise SourceDown(source, f"{endpoint} does not accept the token in {api.token}")
    if status >= http.client.INTERNAL_SERVER_ERROR:
        raise SourceDown(source, f"{endpoint}: {answer.get('error', status)}")
    if status != http.client.OK:
        raise Refused(str(answer.get("error", status)))
    return answer


def text(api: Api, path: str) -> str:
    """The text of a response for which no token is needed. Raises SourceDown."""
    status, data = _exchange(replace(api, token=None), "GET", path)
    if status != http.client.OK:
        raise SourceDown(api.source, f"{api.endpoint}: status {status}")
    return data.decode(errors="replace")


def _exchange(api: Api, method: str, path: str) -> tuple[int, bytes]:
    source, endpoint = api.source, api.endpoint
    headers = _headers(source, api.token)
    try:
        connection = connection_to(endpoint, api.access, TIMEOUT)
    except OSError as error:
        raise SourceDown(source, f"proxy.admin.ca.file: {error}") from error
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        data = response.read(MAX_ANSWER + 1)
    except (OSError, http.client.HTTPException) as error:
        raise SourceDown(source, f"{endpoint}: {error}") from error
    finally:
        connection.close()
    if len(data) > MAX_ANSWER:
        raise SourceDown(source, f"its answer has more than {MAX_ANSWER >> 20} MB")
    return response.status, data


def _headers(source: str, token: SecretFile | None) -> dict[str, str]:
    headers = {XSRF_HEADER: "causeway"}
    if token is None:
        return headers
    try:
        return headers | {"Authorization": f"Bearer {first_token(token)}"}
    except (OSError, UnicodeDecodeError) as error:
        raise SourceDown(source, f"its token cannot be read: {error}") from error
