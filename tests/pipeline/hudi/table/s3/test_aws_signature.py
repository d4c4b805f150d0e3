"""Signatures as Amazon computes them, and keys where its clients look for them."""

import hashlib
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.hudi.errors import StorageFault
from pipeline.hudi.table.s3.aws_credentials import find_keys
from pipeline.hudi.table.s3.aws_signature import AwsKeys, signed_headers, url_path

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def test_the_example_of_amazons_documents():
    signed = signed_headers(
        "PUT",
        "/test$file.text",
        {
            "host": "examplebucket.s3.amazonaws.com",
            "date": "Fri, 24 May 2013 00:00:00 GMT",
            "x-amz-storage-class": "REDUCED_REDUNDANCY",
        },
        hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
        AwsKeys("AKIAIOSFODNN7EXAMPLE", SECRET),
        "us-east-1",
        datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert signed["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    )


def test_a_path_is_escaped_once():
    assert url_path("/lake/ds=2026-01-01 00%3A/é~") == "/lake/ds%3D2026-01-01%2000%253A/%C3%A9~"


def test_keys_do_not_show_their_secret():
    assert SECRET not in repr(AwsKeys("A", SECRET, SECRET))


NO_MACHINE = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}


def test_keys_of_the_environment_come_first(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[default]\naws_access_key_id = F\naws_secret_access_key = S%1\n"
        "[other]\naws_access_key_id = O\naws_secret_access_key = S\naws_session_token = T\n"
    )
    files = {**NO_MACHINE, "AWS_SHARED_CREDENTIALS_FILE": str(file)}
    assert find_keys(files) == AwsKeys("F", "S%1")
    assert find_keys({**files, "AWS_PROFILE": "other"}) == AwsKeys("O", "S", "T")
    environment = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "S"}
    assert find_keys({**files, **environment}) == AwsKeys("E", "S")
    with pytest.raises(StorageFault, match="no access key"):
        find_keys({**files, "AWS_PROFILE": "none"})


def test_a_web_identity_is_refused_by_name() -> None:
    with pytest.raises(StorageFault, match="web identity"):
        find_keys({**NO_MACHINE, "AWS_WEB_IDENTITY_TOKEN_FILE": "/token"})


@pytest.fixture
def machine() -> Iterator[str]:
    """The metadata service of a machine and the one of a container."""
    keys = json.dumps({"AccessKeyId": "M", "SecretAccessKey": "S", "Token": "T"}).encode()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

        def _any(self) -> None:
            roles = "/latest/meta-data/iam/security-credentials/"
            known = self.headers.get("X-aws-ec2-metadata-token") == "session"
            body = {
                "/latest/api/token": b"session",
                roles: b"role\n" if known else b"",
                f"{roles}role": keys if known else b"",
                "/container": keys if self.headers.get("Authorization") == "open" else b"",
            }[self.path]
            self.send_response(200 if body else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = _any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_keys_of_the_machine(machine: str) -> None:
    environment = {
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine,
    }
    assert find_keys(environment) == AwsKeys("M", "S", "T")


def test_keys_of_a_container(machine: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("open\n")
    container = {**NO_MACHINE, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{machine}/container"}
    file = {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token)}
    assert find_keys({**container, **file}) == AwsKeys("M", "S", "T")
    with pytest.raises(StorageFault, match="401"):
        find_keys(container)
