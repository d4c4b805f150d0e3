"""Keys that rotate: in a file, and at an https URL that is verified."""

import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from conf.settings.security.authentication import Jwt
from proxy.auth.tokens import token_keys_client
from proxy.auth.tokens.token_keys_client import JwtVerifier
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from tests.proxy import slapd

OLD, NEW = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


def jwks(**keys: ec.EllipticCurvePrivateKey) -> str:
    entries = []
    for kid, key in keys.items():
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
        entries.append(public | {"kid": kid})
    return json.dumps({"keys": entries})


def token(key: ec.EllipticCurvePrivateKey, kid: str) -> str:
    return jwt.encode({"sub": "ann", "exp": time.time() + 60}, key, "ES256", {"kid": kid})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of `token_keys_client`, in seconds."""
    now = [1000.0]
    monkeypatch.setattr(token_keys_client.time, "monotonic", lambda: now[0])
    return now


def test_rotated_keys_are_read_again(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "keys"
    path.write_text(jwks(old=OLD))
    known = JwtVerifier(Jwt(path.as_uri()))
    assert known.check(token(OLD, "old")) == "ann"
    path.write_text(jwks(new=NEW))
    with pytest.raises(BadCredentials):
        known.check(token(NEW, "new"))  # the keys were read just now
    clock[0] += 11
    assert known.check(token(NEW, "new")) == "ann"
    with pytest.raises(BadCredentials):
        known.check(token(OLD, "old"))


def test_keys_stay_valid_for_a_while_when_reading_fails(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "keys"
    path.write_text(jwks(old=OLD))
    known = JwtVerifier(Jwt(str(path)))
    assert known.check(token(OLD, "old")) == "ann"
    path.unlink()
    clock[0] += 299
    assert known.check(token(OLD, "old")) == "ann"
    clock[0] += 10
    with pytest.raises(AuthBackendUnavailable):
        known.check(token(OLD, "old"))
    clock[0] += 1
    assert known.check(token(OLD, "old")) == "ann"  # reading failed; the keys are not too old
    clock[0] += 300
    with pytest.raises(AuthBackendUnavailable):
        known.check(token(OLD, "old"))


class _Issuer(http.server.BaseHTTPRequestHandler):
    requests = 0

    def do_GET(self) -> None:
        type(self).requests += 1
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/keys")
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        body = jwks(old=OLD).encode() if self.path == "/keys" else bytes(2 << 20)
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None: ...


@contextmanager
def issuer(folder: Path) -> Iterator[str]:
    ca = slapd.certificate(folder, "localhost", "DNS:localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, folder / "key.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Issuer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_an_https_url_is_verified_and_requests_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "localhost")
    with issuer(tmp_path) as url:
        known = JwtVerifier(Jwt(f"{url}/keys", ca=tmp_path / "cert.pem"))
        assert known.check(token(OLD, "old")) == "ann"
        requests = _Issuer.requests
        for _ in range(20):
            with pytest.raises(BadCredentials):
                known.check(token(NEW, "new"))
        assert _Issuer.requests == requests
        for settings in (
            Jwt(f"{url}/keys"),
            Jwt(f"{url}/moved", ca=tmp_path / "cert.pem"),
            Jwt(f"{url}/large", ca=tmp_path / "cert.pem"),
            Jwt(f"{url.replace('localhost', '127.0.0.1')}/keys", ca=tmp_path / "cert.pem"),
        ):
            with pytest.raises(AuthBackendUnavailable):
                JwtVerifier(settings).check(token(OLD, "old"))
