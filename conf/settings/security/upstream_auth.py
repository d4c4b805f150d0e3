"""The log-in of the proxy to a cluster's Thrift Servers, and its verification of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from conf.kinds import Faults
from conf.names import ClusterName
from conf.secrets import SecretFile

PROOF, USER, PASSWORD_FILE = "Authentication", "User", "PasswordFile"
PRINCIPAL, KEYTAB, TLS, CA = "Principal", "Keytab", "Tls", "CaFile"
KEYS = (PROOF, USER, PASSWORD_FILE, PRINCIPAL, KEYTAB, TLS, CA)


class Proof(Enum):
    """How the proxy proves its identity. NONE: a connection has the end user's name, without proof.
    Otherwise connections are the proxy's own, and each session names its end user in
    hive.server2.proxy.user."""

    NONE = "NONE"
    PLAIN = "PLAIN"
    KERBEROS = "KERBEROS"


@dataclass(frozen=True, slots=True)
class Login:
    """`user` is the proxy's user name or principal, `secret` the file with its password or keys,
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
    """The login of each cluster in `text`, the value of hive.cluster.properties.

    `shared`: other users may read files with secrets. Raises ValueError.
    """
    logins, faults = {}, Faults()
    for name, keys in json_object(text).items():
        if isinstance(keys, dict):  # clusters.py reports other values
            texts = {key: value for key, value in keys.items() if isinstance(value, str)}
            with faults.collected(f"cluster {name}: "):
                logins[ClusterName(name)] = _login(texts, shared)
    faults.check(logins)
    return logins


def parse_login(text: str, shared: bool = False) -> Login:
    """The login in `text`, the value of proxy.login; `shared` as in `parse_logins`. Raises
    ValueError."""
    keys, faults = json_object(text), Faults()
    faults.reasons += [f"unknown key {key!r}" for key in keys if key not in KEYS]
    with faults.collected():
        login = _login({key: str(value) for key, value in keys.items()}, shared)
    faults.check()
    return login


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in the text. Raises ValueError, also for a repeated key."""
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _login(keys: Mapping[str, str], shared: bool) -> Login:
    proof = keys.get(PROOF, "NONE").strip().upper()
    if proof not in Proof.__members__:
        raise ValueError(f"{PROOF}: {proof!r} is not one of {', '.join(Proof.__members__)}")
    needed = {"NONE": (), "PLAIN": (USER, PASSWORD_FILE), "KERBEROS": (USER, KEYTAB, PRINCIPAL)}
    belonging, faults = (*needed[proof], PROOF, TLS, CA), Faults()
    for key in KEYS:
        if key in needed[proof] and not keys.get(key, "").strip():
            faults.reasons.append(f"{key} is missing; {PROOF} {proof} needs it")
        elif key in keys and key not in belonging:
            faults.reasons.append(f"{key} does not go with {PROOF} {proof}")
    secret = tls = ca = None
    with faults.collected():
        secret = _secret(keys, PASSWORD_FILE, shared) or _secret(keys, KEYTAB, shared)
    with faults.collected():
        tls = _tls(keys)
    with faults.collected():
        ca = _file(keys, CA)
    faults.check()
    user, server = (keys.get(key, "").strip() for key in (USER, PRINCIPAL))
    return Login(Proof[proof], user, secret, server, bool(tls), ca)


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


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is named twice")
    return dict(pairs)
