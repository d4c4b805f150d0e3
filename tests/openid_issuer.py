"""A small OpenID Connect issuer: its configuration, log-in page, tokens and keys, over HTTP.

It logs everybody in as `user`, at once or by a link on its page (`asks`). A test changes `claims`,
`header`, `key` or what an answer has, and the issuer goes on like that. Its tokens are signed by
joserfc, while Causeway verifies signatures by another library.
"""

import base64
import hashlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "causeway-console", "s3cret + 100 %"


@dataclass(slots=True)
class Issuer:
    """`claims` replaces claims of the tokens, and None removes one; `answers` the parameters that
    the browser brings back; `configuration` keys of the configuration."""

    url: str
    user: str = "ann"
    asks: bool = False
    groups: list[str] = field(default_factory=list)
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, str | None] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    published: Any = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    bodies: list[dict[str, str]] = field(default_factory=list)

    def token(self, audience: Any = CLIENT, **more: Any) -> str:
        """A signed token of the user."""
        now = int(time.time())
        made = {
            "iss": self.url,
            "sub": self.user,
            "aud": audience,
            "exp": now + 300,
            "iat": now,
            "groups": self.groups,
        }
        kept = made | more | self.claims
        claims = {name: value for name, value in kept.items() if value is not None}
        header = {"alg": "ES256", "kid": "one"} | self.header
        if header["alg"] == "none":
            return ".".join((_text(header), _text(claims), ""))
        return str(jwt.encode(header, claims, self.key, algorithms=[header["alg"]]))

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._configuration),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
                Route("/end", self._end),
            ]
        )

    async def _configuration(self, request: Request) -> Response:
        self.requests.append("configuration")
        paths = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
            "end_session_endpoint": "end",
        }
        urls = {name: f"{self.url}/{path}" for name, path in paths.items()}
        return JSONResponse({"issuer": self.url} | urls | self.configuration)

    async def _authorize(self, request: Request) -> Response:
        asked, code = dict(request.query_params), secrets.token_urlsafe(8)
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        self.codes[code] = asked
        answer = {"code": code, "state": asked["state"]} | self.answers
        brought = {name: value for name, value in answer.items() if value is not None}
        back = f"{asked['redirect_uri']}?{urlencode(brought)}"
        if self.asks:
            return HTMLResponse(
                f"<title>In</title><a href='{back.replace('&', '&amp;')}'>It is me</a>"
            )
        return RedirectResponse(back, 303)

    async def _token(self, request: Request) -> Response:
        sent = dict(parse_qsl((await request.body()).decode()))
        self.bodies.append(sent)
        asked = self.codes.pop(sent.get("code", ""), None)
        if asked is None or sent["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant", "error_description": "no code"}, 400)
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant", "error_description": "PKCE"}, 400)
        if not self._is_client(request.headers.get("authorization", ""), sent):
            return JSONResponse({"error": "invalid_client"}, 401)
        token = self.token(asked["client_id"], nonce=asked["nonce"])
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": token})

    def _is_client(self, header: str, sent: dict[str, str]) -> bool:
        methods = self.configuration.get("token_endpoint_auth_methods_supported", [])
        if methods == ["client_secret_post"]:
            return (sent.get("client_id"), sent.get("client_secret")) == (CLIENT, SECRET)
        proof = base64.b64encode(f"{CLIENT}:s3cret%20%2B%20100%20%25".encode()).decode()
        return header == f"Basic {proof}" or (not header and sent.get("client_id") == "public")

    async def _keys(self, request: Request) -> Response:
        self.requests.append("keys")
        public = (self.published or self.key).as_dict(private=False)
        return JSONResponse({"keys": [public]})

    async def _end(self, request: Request) -> Response:
        back = request.query_params["post_logout_redirect_uri"]
        return HTMLResponse(f"<title>Out</title><p>Logged out.</p><a href='{back}'>Back</a>")


@contextmanager
def serving(app: Starlette, listening: socket.socket) -> Iterator[None]:
    """Serves an application in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def running_issuer(host: str = "127.0.0.1") -> Iterator[Issuer]:
    """An issuer that answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        issuer = Issuer(f"http://{host}:{listening.getsockname()[1]}")
        with serving(issuer.app(), listening):
            yield issuer


def shared_key() -> Any:
    """A key that is a secret of both sides, which Causeway takes from nobody."""
    return OctKey.generate_key(256, {"kid": "one"})


def _text(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
