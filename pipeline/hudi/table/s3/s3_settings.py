"""Translates Hadoop's settings of a bucket into arguments of Arrow's S3 client.

So Spark and this process have one configuration: `fs.s3a.KEY`, and `fs.s3a.bucket.BUCKET.KEY`,
which takes precedence. Arrow finds credentials that are not in the settings as Amazon's clients do:
in the environment, in `~/.aws`, from the machine.
"""

import re
from collections.abc import Mapping
from typing import Any

from pipeline.errors import BadEndpoints

SCHEMES = ("s3", "s3a", "s3n")
_STATIC = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_SEARCHED = frozenset(
    {
        "DefaultAWSCredentialsProviderChain", "EC2ContainerCredentialsProviderWrapper",
        "EnvironmentVariableCredentialsProvider", "IAMInstanceCredentialsProvider",
        "InstanceProfileCredentialsProvider", "ProfileCredentialsProvider",
    }
)  # fmt: skip
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
# A bucket with one of these is read through Hadoop.
_HADOOP_ONLY = (
    "accesspoint.arn", "custom.signers", "delegation.token.binding", "proxy.host",
    "security.credential.provider.path", "signing-algorithm",
)  # fmt: skip
_ENCRYPTION = ("encryption.algorithm", "server-side-encryption-algorithm")
_WRITE_KEYS = (_ENCRYPTION, ("encryption.key", "server-side-encryption.key"))
_ENCRYPTED = {
    "": {},
    "AES256": {"x-amz-server-side-encryption": "AES256"},
    "SSE-KMS": {"x-amz-server-side-encryption": "aws:kms"},
}
_CLIENT_KEYS = ("SSE-C", "CSE-KMS", "CSE-CUSTOM")
_TIMEOUT, _CONNECT_TIMEOUT, _ATTEMPTS = 30.0, 5.0, 10


def s3_bucket(uri: str) -> str | None:
    """The bucket of an S3 URI; None for every other path."""
    scheme, colon, rest = uri.partition("://")
    return rest.partition("/")[0] if colon and scheme in SCHEMES else None


def s3_arguments(bucket: str, settings: Mapping[str, str]) -> dict[str, Any] | None:
    """The arguments of `pyarrow.fs.S3FileSystem`, with `max_attempts` for its retries; None when
    only Hadoop's client supports the settings. They contain secrets, so they must not be logged.
    Raises BadEndpoints.
    """
    found = _of_bucket(bucket, settings)
    credentials = _credentials(found)
    if credentials is None or _needs_hadoop(found, settings):
        return None
    return {
        **credentials,
        **_endpoint(found),
        "request_timeout": _TIMEOUT,
        "connect_timeout": _CONNECT_TIMEOUT,
        "max_attempts": _attempts(found),
    }


def write_headers(bucket: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Headers of every object that is written: encryption and access list. Raises BadEndpoints."""
    found = _of_bucket(bucket, settings)
    algorithm, key = (next((found[k] for k in keys if k in found), "") for keys in _WRITE_KEYS)
    if algorithm.upper() not in _ENCRYPTED:
        raise BadEndpoints(f"objects of {bucket} cannot be written with encryption {algorithm}.")
    headers = dict(_ENCRYPTED[algorithm.upper()])
    if algorithm.upper() == "SSE-KMS" and key:
        headers["x-amz-server-side-encryption-aws-kms-key-id"] = key
    if access := found.get("acl.default"):
        headers["x-amz-acl"] = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", access).lower()
    return headers


def _attempts(found: Mapping[str, str]) -> int:
    text = found.get("attempts.maximum", str(_ATTEMPTS))
    if not text.isdecimal() or int(text) < 1:
        raise BadEndpoints(f"fs.s3a.attempts.maximum={text} is no number of attempts.")
    return int(text)


def _of_bucket(bucket: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings of `fs.s3a.` without this prefix. Those of the bucket take precedence."""
    found: dict[str, str] = {}
    for prefix in ("fs.s3a.", f"fs.s3a.bucket.{bucket}."):
        for key, value in settings.items():
            if key.startswith(prefix) and value.strip():
                found[key[len(prefix) :]] = value.strip()
    return found


def _needs_hadoop(found: Mapping[str, str], settings: Mapping[str, str]) -> bool:
    client_keys = any(found.get(key, "").upper() in _CLIENT_KEYS for key in _ENCRYPTION)
    pays = found.get("requester.pays.enabled", "false").lower() == "true"
    stored = bool(settings.get("hadoop.security.credential.provider.path", "").strip())
    return client_keys or pays or stored or any(key in found for key in _HADOOP_ONLY)


def _credentials(found: Mapping[str, str]) -> dict[str, Any] | None:
    """None for a provider of credentials that only Hadoop has."""
    providers = found.get("aws.credentials.provider", "")
    names = {each.strip().rpartition(".")[2] for each in providers.split(",") if each.strip()}
    if not names <= _STATIC | _SEARCHED | {_ANONYMOUS}:
        return None
    access, secret = found.get("access.key"), found.get("secret.key")
    if access and secret and (not names or names & _STATIC):
        token = found.get("session.token")
        return {"access_key": access, "secret_key": secret, "session_token": token}
    return {"anonymous": True} if names == {_ANONYMOUS} else {}


def _endpoint(found: Mapping[str, str]) -> dict[str, Any]:
    region = found.get("endpoint.region")
    endpoint = found.get("endpoint", "")
    if not endpoint:
        return {"region": region}
    scheme, colon, host = endpoint.rpartition("://")
    if not colon:
        secure = found.get("connection.ssl.enabled", "true").lower() != "false"
        scheme = "https" if secure else "http"
    path_style = found.get("path.style.access", "false").lower() == "true"
    return {
        "region": region,
        "scheme": scheme,
        "endpoint_override": host.rstrip("/"),
        "force_virtual_addressing": not path_style,
    }
