"""Finds keys for Amazon's services as Amazon's clients do: environment, `~/.aws`, machine."""

import configparser
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.hudi.errors import StorageFault
from pipeline.hudi.table.s3.aws_signature import AwsKeys

_TIMEOUT = 5.0  # seconds of a request to the machine's own addresses
_CONTAINER = "http://169.254.170.2"
_METADATA = "http://169.254.169.254"
_ROLE = "/latest/meta-data/iam/security-credentials/"


def find_keys(environment: Mapping[str, str] = os.environ) -> AwsKeys:
    """The first keys that are found. Raises StorageFault when there are none."""
    found = _of_environment(environment) or _of_file(environment)
    if found is None and "AWS_WEB_IDENTITY_TOKEN_FILE" in environment:
        raise StorageFault("keys of a web identity are not used for targets: name an access key.")
    try:
        found = found or _of_container(environment) or _of_machine(environment)
    except (OSError, ValueError, KeyError) as fault:
        raise StorageFault(
            f"no access key in settings, environment or ~/.aws ({fault})."
        ) from fault
    if found is None:
        raise StorageFault("no access key in settings, environment, ~/.aws or machine.")
    return found


def _of_environment(environment: Mapping[str, str]) -> AwsKeys | None:
    access = environment.get("AWS_ACCESS_KEY_ID")
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    if not access or not secret:
        return None
    return AwsKeys(access, secret, environment.get("AWS_SESSION_TOKEN") or None)


def _of_file(environment: Mapping[str, str]) -> AwsKeys | None:
    path = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")).expanduser()
    profiles = configparser.ConfigParser(interpolation=None)
    try:
        profiles.read(path)
    except configparser.Error as fault:
        # The message of the error may contain a secret.
        raise StorageFault(f"{path} cannot be read.") from fault
    name = environment.get("AWS_PROFILE", "default")
    profile = profiles[name] if profiles.has_section(name) else {}
    access, secret = profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")
    if not access or not secret:
        return None
    return AwsKeys(access, secret, profile.get("aws_session_token") or None)


def _of_container(environment: Mapping[str, str]) -> AwsKeys | None:
    relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = f"{_CONTAINER}{relative}" if relative else None
    url = url or environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if not url:
        return None
    token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    if file := environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"):
        token = Path(file).read_text(encoding="utf-8").strip()
    return _of_answer(_get(url, {"Authorization": token} if token else {}))


def _of_machine(environment: Mapping[str, str]) -> AwsKeys | None:
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    root = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", _METADATA).rstrip("/")
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "300"}
    token = {"X-aws-ec2-metadata-token": _get(f"{root}/latest/api/token", lifetime, "PUT").decode()}
    role = _get(f"{root}{_ROLE}", token).decode().split()[0]
    return _of_answer(_get(f"{root}{_ROLE}{role}", token))


def _of_answer(body: bytes) -> AwsKeys:
    values: dict[str, Any] = json.loads(body)
    return AwsKeys(values["AccessKeyId"], values["SecretAccessKey"], values["Token"])


def _get(url: str, headers: Mapping[str, str], method: str = "GET") -> bytes:
    request = urllib.request.Request(url, headers=dict(headers), method=method)
    # No proxy: these addresses are the machine's own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_TIMEOUT) as answer:
        return bytes(answer.read())
