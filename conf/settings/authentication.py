"""Who may come in, how that is proved and who may act for whom, under HiveServer2's names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from conf import secrets
from conf.secrets import SecretFile
from conf.settings.parse import Reader, choice, flag

AUTH = "hive.server2.authentication"
_LDAP = "hive.server2.authentication.ldap."
LDAP_URL = _LDAP + "url"
LDAP_BASE = _LDAP + "baseDN"
LDAP_DOMAIN = _LDAP + "Domain"
LDAP_USER_PATTERN = _LDAP + "userDNPattern"
LDAP_GROUP_PATTERN = _LDAP + "groupDNPattern"
LDAP_USER_FILTER = _LDAP + "userFilter"
LDAP_GROUP_FILTER = _LDAP + "groupFilter"
LDAP_USER_MEMBERSHIP = _LDAP + "userMembershipKey"
LDAP_GROUP_MEMBERSHIP = _LDAP + "groupMembershipKey"
LDAP_GROUP_CLASS = _LDAP + "groupClassKey"
LDAP_GUID = _LDAP + "guidKey"
LDAP_QUERY = _LDAP + "customLDAPQuery"
LDAP_BIND_DN = _LDAP + "binddn"
LDAP_BIND_PASSWORD = _LDAP + "bindpw"
LDAP_START_TLS = "proxy.ldap.starttls"
LDAP_CA = "proxy.ldap.ca.file"
PRINCIPAL = "hive.server2.authentication.kerberos.principal"
KEYTAB = "hive.server2.authentication.kerberos.keytab"
SPNEGO_PRINCIPAL = "hive.server2.authentication.spnego.principal"
SPNEGO_KEYTAB = "hive.server2.authentication.spnego.keytab"
JWKS = "hive.server2.authentication.jwt.jwks.url"
JWT_ISSUER = "proxy.jwt.issuer"
JWT_AUDIENCE = "proxy.jwt.audience"
JWT_ALGORITHMS = "proxy.jwt.algorithms"
JWT_USER = "proxy.jwt.user.claim"
JWT_CA = "proxy.jwt.ca.file"
PASSWORD_FILE = "proxy.password.file"
CUSTOM = "hive.server2.custom.authentication.class"
QOP = "hive.server2.thrift.sasl.qop"
SUBSTITUTION = "hive.server2.allow.user.substitution"
PROXY_RULES = "hadoop.proxyuser."  # and a user's name, and hosts, groups or users

NAMES: tuple[str, ...] = (
    AUTH,
    LDAP_URL,
    LDAP_BASE,
    LDAP_DOMAIN,
    LDAP_USER_PATTERN,
    LDAP_GROUP_PATTERN,
    LDAP_USER_FILTER,
    LDAP_GROUP_FILTER,
    LDAP_USER_MEMBERSHIP,
    LDAP_GROUP_MEMBERSHIP,
    LDAP_GROUP_CLASS,
    LDAP_GUID,
    LDAP_QUERY,
    LDAP_BIND_DN,
    LDAP_BIND_PASSWORD,
    LDAP_START_TLS,
    LDAP_CA,
    PRINCIPAL,
    KEYTAB,
    SPNEGO_PRINCIPAL,
    SPNEGO_KEYTAB,
    JWKS,
    JWT_ISSUER,
    JWT_AUDIENCE,
    JWT_ALGORITHMS,
    JWT_USER,
    JWT_CA,
    PASSWORD_FILE,
    CUSTOM,
    QOP,
    SUBSTITUTION,
)
SIGNATURES = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_RULE = re.compile(re.escape(PROXY_RULES) + r"(.+)\.(hosts|groups|users)")
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_HADOOP_PRINCIPAL = re.compile(r"[^/@\s]+/[^/@\s]+@[^/@\s]+")


class Auth(Enum):
    """What `hive.server2.authentication` lists: how clients say who they are."""

    NONE = "NONE"
    NOSASL = "NOSASL"
    LDAP = "LDAP"
    KERBEROS = "KERBEROS"
    JWT = "JWT"
    FILE = "FILE"
    CUSTOM = "CUSTOM"


class Qop(Enum):
    """`hive.server2.thrift.sasl.qop`: what tickets protect of all that is said over the binary
    transport: nothing, that nobody changes it, or that nobody reads it either."""

    AUTH = "auth"
    AUTH_INT = "auth-int"
    AUTH_CONF = "auth-conf"

    @property
    def bit(self) -> int:
        """Its number in a negotiation (RFC 4752)."""
        return {Qop.AUTH: 1, Qop.AUTH_INT: 2, Qop.AUTH_CONF: 4}[self]


_BY_PASSWORD = frozenset((Auth.NONE, Auth.LDAP, Auth.FILE, Auth.CUSTOM))


@dataclass(frozen=True, slots=True)
class Ldap:
    """HiveServer2's settings of the same names; patterns have `%s` where the name goes."""

    urls: tuple[str, ...]
    base: str = ""
    domain: str = ""
    user_patterns: tuple[str, ...] = ()
    group_patterns: tuple[str, ...] = ()
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    user_membership: str = ""
    group_membership: str = "member"
    group_class: str = "groupOfNames"
    guid: str = "uid"
    query: str = ""
    bind_dn: str = ""
    bind_password: str = field(default="", repr=False)
    start_tls: bool = False
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A service of Kerberos: `name/host@REALM`, and the file with its keys."""

    principal: str
    keytab: SecretFile

    @property
    def realm(self) -> str:
        return self.principal.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Jwt:
    """`jwks` is a file or an https URL. None of issuer, audience: not checked."""

    jwks: str
    issuer: str = ""
    audience: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = SIGNATURES
    user_claim: str = "sub"
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """For whom a user may act and from where; `*` in a set is everybody, everywhere."""

    hosts: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Identity:
    """One way of passwords at most, and tickets or tokens beside it."""

    methods: frozenset[Auth] = frozenset((Auth.NONE,))
    ldap: Ldap | None = None
    kerberos: Service | None = None
    spnego: Service | None = None
    qop: Qop = Qop.AUTH
    jwt: Jwt | None = None
    password_file: SecretFile | None = None
    custom: str = ""
    substitution: bool = True
    rules: Mapping[str, ProxyRule] = field(default_factory=dict)


def is_rule(name: str) -> bool:
    """Whether a setting says for whom somebody may act: their names are not fixed."""
    return _RULE.fullmatch(name) is not None


def read(reader: Reader) -> Identity:
    """Raises BadSetting."""
    methods = reader.read(AUTH, _methods, frozenset((Auth.NONE,)))
    kerberos = _service(reader, PRINCIPAL, KEYTAB) if Auth.KERBEROS in methods else None
    spnego = None
    if kerberos is not None and reader.read(SPNEGO_PRINCIPAL, str, ""):
        spnego = _service(reader, SPNEGO_PRINCIPAL, SPNEGO_KEYTAB)
    return Identity(
        methods=methods,
        ldap=_ldap(reader) if Auth.LDAP in methods else None,
        kerberos=kerberos,
        spnego=spnego,
        qop=_qop(reader, methods),
        jwt=_jwt(reader) if Auth.JWT in methods else None,
        password_file=_needed_file(reader, PASSWORD_FILE) if Auth.FILE in methods else None,
        custom=_custom(reader) if Auth.CUSTOM in methods else "",
        substitution=reader.read(SUBSTITUTION, flag, True),
        rules=_rules(reader.values),
    )


def _qop(reader: Reader, methods: frozenset[Auth]) -> Qop:
    qop = reader.read(QOP, choice(Qop), Qop.AUTH)
    if qop is not Qop.AUTH and Auth.KERBEROS not in methods:
        raise reader.bad(QOP, f"{qop.value} comes with {Auth.KERBEROS.value} alone")
    return qop


def _methods(text: str) -> frozenset[Auth]:
    named = [each.strip().upper() for each in text.split(",")]
    if "PAM" in named:
        raise ValueError("PAM is not offered; LDAP, FILE or CUSTOM can stand in for it")
    unknown = [each for each in named if each not in Auth.__members__]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(Auth.__members__)}")
    methods = frozenset(Auth[each] for each in named)
    if len(methods & _BY_PASSWORD) > 1:
        raise ValueError("a password is checked in one way; two are named")
    if Auth.NOSASL in methods and len(methods) > 1:
        raise ValueError("NOSASL asks nobody who they are, and goes with nothing else")
    return methods


def _ldap(reader: Reader) -> Ldap:
    none: tuple[str, ...] = ()
    urls = reader.read(LDAP_URL, _ldap_urls, none)
    if not urls:
        raise reader.bad(LDAP_URL, "missing; LDAP needs it")
    bind_dn = reader.read(LDAP_BIND_DN, str, "")
    bind_password = reader.read(LDAP_BIND_PASSWORD, str, "")
    if bool(bind_dn) != bool(bind_password):
        raise reader.bad(LDAP_BIND_DN, f"it and {LDAP_BIND_PASSWORD} go together")
    base = reader.read(LDAP_BASE, str, "")
    guid = reader.read(LDAP_GUID, _attribute, "uid")
    return Ldap(
        urls=urls,
        base=base,
        domain=reader.read(LDAP_DOMAIN, str, ""),
        user_patterns=reader.read(LDAP_USER_PATTERN, _patterns, _below(base, guid)),
        group_patterns=reader.read(LDAP_GROUP_PATTERN, _patterns, _below(base, guid)),
        users=reader.read(LDAP_USER_FILTER, _lowered, frozenset()),
        groups=reader.read(LDAP_GROUP_FILTER, _lowered, frozenset()),
        user_membership=reader.read(LDAP_USER_MEMBERSHIP, _attribute, ""),
        group_membership=reader.read(LDAP_GROUP_MEMBERSHIP, _attribute, "member"),
        group_class=reader.read(LDAP_GROUP_CLASS, _attribute, "groupOfNames"),
        guid=guid,
        query=reader.read(LDAP_QUERY, str, ""),
        bind_dn=bind_dn,
        bind_password=bind_password,
        start_tls=reader.read(LDAP_START_TLS, flag, False),
        ca=_file(reader, LDAP_CA),
    )


def _below(base: str, guid: str) -> tuple[str, ...]:
    return (f"{guid}=%s,{base}",) if base else ()


def _ldap_urls(text: str) -> tuple[str, ...]:
    urls = tuple(re.split(r"[\s,]+", text.strip()))
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("ldap", "ldaps") or not parts.hostname:
            raise ValueError(f"not ldap://host or ldaps://host: {url!r}")
    return urls


def _patterns(text: str) -> tuple[str, ...]:
    patterns = tuple(each.strip() for each in text.split(":"))
    for each in patterns:
        if "=%s," not in each:
            raise ValueError(f"not a DN with %s for the name: {each!r}")
    return patterns


def _lowered(text: str) -> frozenset[str]:
    return frozenset(each.strip().lower() for each in text.split(",") if each.strip())


def _attribute(text: str) -> str:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", text) is None:
        raise ValueError(f"not the name of an attribute or class: {text!r}")
    return text


def _service(reader: Reader, principal: str, keytab: str) -> Service:
    return Service(_needed(reader, principal, _principal), _needed_file(reader, keytab))


def _principal(text: str) -> str:
    if _HADOOP_PRINCIPAL.fullmatch(text) is None:
        raise ValueError(f"not name/host@REALM: {text!r}")
    return text


def _jwt(reader: Reader) -> Jwt:
    none: tuple[str, ...] = ()
    return Jwt(
        jwks=_needed(reader, JWKS, _jwks),
        issuer=reader.read(JWT_ISSUER, str, ""),
        audience=reader.read(JWT_AUDIENCE, _listed, none),
        algorithms=reader.read(JWT_ALGORITHMS, _algorithms, SIGNATURES),
        user_claim=reader.read(JWT_USER, str, "sub"),
        ca=_file(reader, JWT_CA),
    )


def _jwks(text: str) -> str:
    scheme = urlsplit(text).scheme
    if scheme not in ("", "file", "https"):
        raise ValueError(f"neither a file nor an https URL: {text!r}")
    return text


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _algorithms(text: str) -> tuple[str, ...]:
    named = _listed(text)
    for each in named:
        if each not in SIGNATURES:
            raise ValueError(f"{each!r} is not one of {', '.join(SIGNATURES)}")
    return named


def _custom(reader: Reader) -> str:
    return _needed(reader, CUSTOM, _callable)


def _callable(text: str) -> str:
    if _CALLABLE.fullmatch(text) is None:
        raise ValueError(f"not module:name of a Python callable: {text!r}")
    return text


def _rules(values: Mapping[str, str]) -> dict[str, ProxyRule]:
    told: dict[str, dict[str, frozenset[str]]] = {}
    for name, text in values.items():
        match = _RULE.fullmatch(name)
        if match is not None:
            told.setdefault(match[1], {})[match[2]] = frozenset(_listed(text))
    return {user: ProxyRule(**rule) for user, rule in told.items()}


def _needed(reader: Reader, name: str, parse: Callable[[str], str]) -> str:
    value = reader.read(name, parse, "")
    if not value:
        raise reader.bad(name, f"missing; {AUTH} needs it")
    return value


def _file(reader: Reader, name: str) -> Path | None:
    """A file that is there. Raises BadSetting."""
    path = reader.read(name, Path, None)
    if path is not None and not path.is_file():
        raise reader.bad(name, f"no such file: {path}")
    return path


def _needed_file(reader: Reader, name: str) -> SecretFile:
    path = _file(reader, name)
    if path is None:
        raise reader.bad(name, f"missing; {AUTH} needs it")
    return secrets.checked(reader, name, SecretFile(path, secrets.shared(reader)))
