"""How the proxy authenticates to a cluster's Thrift Servers, and verifies them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from conf.names import ClusterName
from conf.secrets import SecretFile

PROOF, USER, PASSWORD_FILE = "Authentication", "User", "PasswordFile"
PRINCIPAL, KEYTAB, TLS, CA = "Principal", "Keytab", "Tls", "CaFile"
KEYS = (PROOF, USER, PASSWORD_FILE, PRINCIPAL, KEYTAB, TLS, CA)


class Proof(Enum):
    """NONE: connections carry the end user's name, without proof. Otherwise they are the proxy's
    own, and each session names its end user as hive.server2.proxy.user."""

    NONE = "NONE"
    PLAIN = "PLAIN"
    KERBEROS = "KERBEROS"


@dataclass(frozen=True, slots=True)
class Login:
    """`user` is the proxy's name or principal there, `secret` the file with its password or keys,
    `server` the principal of the Thrift Servers. `ca` None: the system's authorities."""

    proof: Proof = Proof.NONE
    user: str = ""
    secret: SecretFile | None = None
    server: str = ""
    tls: bool = False
    ca: Path | None = None

    @property
    def is_service(self) -> bool:
        return self.proof is not Proof.NONE


def parse_logins(text: str, shared: bool = False) -> dict[ClusterName, Login]:
    """The logins of clusters that name one; `text` is a valid hive.cluster.properties.

    `shared`: others may read files with secrets. Raises ValueError.
    """
    logins = {}
    for name, keys in _object(text).items():
        try:
            logins[ClusterName(name)] = _login(keys, shared)
        except ValueError as error:
            raise ValueError(f"cluster {name}: {error}") from error
    return {name: login for name, login in logins.items() if login != Login()}


def parse_login(text: str, shared: bool = False) -> Login:
    """proxy.login; `shared` as in `parse_logins`. Raises ValueError."""
    keys = _object(text)
    unknown = [key for key in keys if key not in KEYS]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}")
    return _login({key: str(value) for key, value in keys.items()}, shared)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _login(keys: Mapping[str, str], shared: bool) -> Login:
    proof = keys.get(PROOF, "NONE").strip().upper()
    if proof not in Proof.__members__:
        raise ValueError(f"{PROOF}: {proof!r} is not one of {', '.join(Proof.__members__)}")
    needed = {"NONE": (), "PLAIN": (USER, PASSWORD_FILE), "KERBEROS": (USER, KEYTAB, PRINCIPAL)}
    belonging = (*needed[proof], PROOF, TLS, CA)
    for key in needed[proof]:
        if not keys.get(key, "").strip():
            raise ValueError(f"{key} is missing; {PROOF} {proof} needs it")
    for key in KEYS:
        if key in keys and key not in belonging:
            raise ValueError(f"{key} does not go with {PROOF} {proof}")
    return Login(
        Proof[proof],
        keys.get(USER, "").strip(),
        _secret(keys, PASSWORD_FILE, shared) or _secret(keys, KEYTAB, shared),
        keys.get(PRINCIPAL, "").strip(),
        _tls(keys),
        _file(keys, CA),
    )


def _tls(keys: Mapping[str, str]) -> bool:
    text = keys.get(TLS, "false").strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"{TLS} is neither true nor false")
    if text == "false" and CA in keys:
        raise ValueError(f"{CA} goes with {TLS} true")
    return text == "true"


def _secret(keys: Mapping[str, str], key: str, shared: bool) -> SecretFile | None:
    path = _file(keys, key)
    if path is None:
        return None
    file = SecretFile(path, shared)
    try:
        file.check()
    except OSError as error:
        raise ValueError(f"{key}: {file}: {error.strerror}") from None
    return file


def _file(keys: Mapping[str, str], key: str) -> Path | None:
    if key not in keys:
        return None
    path = Path(keys[key].strip())
    if not path.is_file():
        raise ValueError(f"{key}: no such file: {path}")
    return path
