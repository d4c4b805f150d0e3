"""Authentication of the proxy's clients, and impersonation, under HiveServer2's names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from conf.auth_to_local import AuthToLocal, parse_rules
from conf.kinds import (
    FILE,
    FLAG,
    LIST,
    LOWER_SET,
    SECRET_FILE,
    SECRET_PATH,
    TEXT,
    SettingKind,
    choice,
    comma_separated,
)
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of, optional_group, setting

SIGNATURES = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_RULE = re.compile(r"hadoop\.proxyuser\.(.+)\.(hosts|groups|users)")
_CALLABLE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PRINCIPAL = re.compile(r"[^/@\s]+/[^/@\s]+@[^/@\s]+")


class Auth(Enum):
    """One method of `hive.server2.authentication`: how clients prove who they are."""

    NONE = "NONE"
    NOSASL = "NOSASL"
    LDAP = "LDAP"
    KERBEROS = "KERBEROS"
    JWT = "JWT"
    FILE = "FILE"
    CUSTOM = "CUSTOM"


class Qop(Enum):
    """`hive.server2.thrift.sasl.qop`: how Kerberos protects the binary transport: not at all, its
    integrity, or its integrity and confidentiality."""

    AUTH = "auth"
    AUTH_INT = "auth-int"
    AUTH_CONF = "auth-conf"

    @property
    def bit(self) -> int:
        """Its number in a negotiation (RFC 4752)."""
        return {Qop.AUTH: 1, Qop.AUTH_INT: 2, Qop.AUTH_CONF: 4}[self]


_BY_PASSWORD = frozenset((Auth.NONE, Auth.LDAP, Auth.FILE, Auth.CUSTOM))


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
        raise ValueError(
            "NOSASL authenticates no client, and cannot be combined with another method"
        )
    return methods


def _ldap_urls(text: str) -> tuple[str, ...]:
    urls = tuple(re.split(r"[\s,]+", text.strip()))
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("ldap", "ldaps") or not parts.hostname:
            raise ValueError(f"not ldap://host or ldaps://host: {url!r}")
    return urls


def _dn_patterns(text: str) -> tuple[str, ...]:
    patterns = tuple(each.strip() for each in text.split(":"))
    for each in patterns:
        if "=%s," not in each:
            raise ValueError(f"not a DN with %s for the name: {each!r}")
    return patterns


def _attribute(text: str) -> str:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", text) is None:
        raise ValueError(f"not the name of an attribute or class: {text!r}")
    return text


def _principal(text: str) -> str:
    if _PRINCIPAL.fullmatch(text) is None:
        raise ValueError(f"not name/host@REALM: {text!r}")
    return text


def _jwks(text: str) -> str:
    if urlsplit(text).scheme not in ("", "file", "https"):
        raise ValueError(f"neither a file nor an https URL: {text!r}")
    return text


def _algorithms(text: str) -> tuple[str, ...]:
    named = comma_separated(text)
    for each in named:
        if each not in SIGNATURES:
            raise ValueError(f"{each!r} is not one of {', '.join(SIGNATURES)}")
    return named


def _callable(text: str) -> str:
    if _CALLABLE.fullmatch(text) is None:
        raise ValueError(f"not module:name of a Python callable: {text!r}")
    return text


_ATTRIBUTE = SettingKind("attribute", _attribute, empty="")
_DN_PATTERNS: SettingKind[tuple[str, ...]] = SettingKind("list of DNs", _dn_patterns, empty=())
SERVICE_PRINCIPAL = SettingKind("principal", _principal, empty="")

# fmt: off
METHODS = Setting("hive.server2.authentication",
    SettingKind("list", _methods, {"type": ["string", "array"]}), "NONE", RESTART,
    "How clients authenticate: one of `NONE`, `LDAP`, `FILE`, `CUSTOM` for passwords, with or"
    " without `KERBEROS` and `JWT`, separated by commas; `KERBEROS` and `JWT` alone; or"
    " `NOSASL` alone.")
_NEEDED = f"{METHODS.name} needs it"
_LDAP = "hive.server2.authentication.ldap."
_BIND_DN = Setting(f"{_LDAP}binddn", TEXT, "", RESTART,
    "The DN with which Causeway searches the directory, if users may not search it.")
_BIND_PASSWORD_FILE: Setting[SecretFile | None] = Setting("proxy.ldap.bindpw.file",
    SECRET_PATH, "", RESTART,
    "A file with the password of `binddn`, in place of `bindpw`; it is read for each log-in.")


@dataclass(frozen=True, slots=True)
class Ldap:
    """HiveServer2's settings for LDAP. Patterns have `%s` for the name of a user or group."""

    urls: tuple[str, ...] = setting(f"{_LDAP}url",
        SettingKind("list of URLs", _ldap_urls, {"type": ["string", "array"]}, ()), "", RESTART,
        "`ldap://host[:port]` or `ldaps://..`, several separated by spaces or commas: if one"
        " does not answer, the next is tried.", needed="LDAP needs it")
    base: str = setting(f"{_LDAP}baseDN", TEXT, "", RESTART,
        "Where entries are searched, unless the patterns name a place.")
    domain: str = setting(f"{_LDAP}Domain", TEXT, "", RESTART,
        "Users bind as `name@domain` (Active Directory).")
    user_patterns: tuple[str, ...] = setting(f"{_LDAP}userDNPattern", _DN_PATTERNS, "", RESTART,
        "DNs of users with `%s` for the name, separated by `:`.", shown="`<guidKey>=%s,<baseDN>`")
    group_patterns: tuple[str, ...] = setting(f"{_LDAP}groupDNPattern", _DN_PATTERNS, "", RESTART,
        "DNs of groups with `%s` for the name, separated by `:`; they say where groups are.",
        shown="`<guidKey>=%s,<baseDN>`")
    users: frozenset[str] = setting(f"{_LDAP}userFilter", LOWER_SET, "", RESTART,
        "Users that may log in, separated by commas.")
    groups: frozenset[str] = setting(f"{_LDAP}groupFilter", LOWER_SET, "", RESTART,
        "Groups whose members may log in.")
    user_membership: str = setting(f"{_LDAP}userMembershipKey", _ATTRIBUTE, "", RESTART,
        "The attribute of a user that names its groups; without it the groups are searched for"
        " the user.")
    group_membership: str = setting(f"{_LDAP}groupMembershipKey", _ATTRIBUTE, "member", RESTART,
        "The attribute of a group that names its members.")
    group_class: str = setting(f"{_LDAP}groupClassKey", _ATTRIBUTE, "groupOfNames", RESTART,
        "The object class of groups.")
    guid: str = setting(f"{_LDAP}guidKey", _ATTRIBUTE, "uid", RESTART,
        "The attribute that holds a user's name.")
    query: str = setting(f"{_LDAP}customLDAPQuery", TEXT, "", RESTART,
        "A filter below `baseDN`: users that it finds, and members of groups that it finds, may"
        " log in. It replaces the other filters.")
    bind_dn: str = made_of(_BIND_DN, factory=str)
    bind_password: str = setting(f"{_LDAP}bindpw", TEXT, "", RESTART,
        "The password of `binddn`.", secret=True)
    bind_password_file: SecretFile | None = made_of(_BIND_PASSWORD_FILE, factory=lambda: None)
    start_tls: bool = setting("proxy.ldap.starttls", FLAG, "false", RESTART,
        "StartTLS on `ldap://`.")
    ca: Path | None = setting("proxy.ldap.ca.file", FILE, "", RESTART,
        "Certificate authorities (PEM) for ldaps and StartTLS.", shown="the system's")


@dataclass(frozen=True, slots=True)
class KerberosService:
    """A service of Kerberos: `name/host@REALM`, and the file with its keys."""

    principal: str
    keytab: SecretFile

    @property
    def realm(self) -> str:
        return self.principal.rpartition("@")[2]


_PRINCIPAL_ROW = Setting("hive.server2.authentication.kerberos.principal",
    SERVICE_PRINCIPAL, "", RESTART,
    "Causeway's service principal, `hive/_HOST@REALM`.", needed=_NEEDED)
_KEYTAB = Setting("hive.server2.authentication.kerberos.keytab", SECRET_FILE, "", RESTART,
    "The file with the keys of Causeway's service principal.", needed=_NEEDED)
_SPNEGO_PRINCIPAL = Setting("hive.server2.authentication.spnego.principal",
    SERVICE_PRINCIPAL, "", RESTART, "The service principal for HTTP, `HTTP/_HOST@REALM`.")
_SPNEGO_KEYTAB = Setting("hive.server2.authentication.spnego.keytab", SECRET_FILE, "", RESTART,
    "The file with the keys of the service principal for HTTP.", needed=_NEEDED)


@dataclass(frozen=True, slots=True)
class Jwt:
    """`jwks` is a file or an https URL. An empty issuer or audience is not checked."""

    jwks: str = setting("hive.server2.authentication.jwt.jwks.url",
        SettingKind("file or https URL", _jwks, empty=""), "", RESTART,
        "The issuer's keys (JWKS).", needed=_NEEDED)
    issuer: str = setting("proxy.jwt.issuer", TEXT, "", RESTART,
        "The text that a token's `iss` has to be.", shown="not checked")
    audience: tuple[str, ...] = setting("proxy.jwt.audience", LIST, "", RESTART,
        "Texts of which a token's `aud` has to contain one.", shown="not checked")
    algorithms: tuple[str, ...] = setting("proxy.jwt.algorithms",
        SettingKind("list", _algorithms, {"type": ["string", "array"]}), ",".join(SIGNATURES),
        RESTART, "How tokens may be signed.", shown="RS, PS, ES 256..512, EdDSA")
    user_claim: str = setting("proxy.jwt.user.claim", TEXT, "sub", RESTART,
        "The claim that holds the user's name.")
    ca: Path | None = setting("proxy.jwt.ca.file", FILE, "", RESTART,
        "Certificate authorities (PEM) for the URL of the keys.", shown="the system's")


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """The groups and users that a user may impersonate, and the hosts from which it may. `*` in a
    set is everybody, or everywhere."""

    hosts: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()


_QOP = Setting("hive.server2.thrift.sasl.qop", choice(Qop), "auth", RESTART,
    "How Kerberos protects the binary transport: `auth` not at all, `auth-int` its integrity,"
    " `auth-conf` its integrity and confidentiality.")
AUTH_TO_LOCAL: Setting[AuthToLocal] = Setting("hadoop.security.auth_to_local",
    SettingKind("rules", parse_rules, empty=AuthToLocal()), "DEFAULT", RESTART,
    "How principals become user names, for clients of the proxy and of the views:"
    " Hadoop's rules, with white space between them"
    " ([several realms](../guide/kerberos.md#names-and-realms)). `DEFAULT`: the first component of"
    " a principal of the service's own realm.")
_RULES = tuple(
    Setting(f"hadoop.proxyuser.<user>.{part}", LIST, "", RESTART, sentence, shown="nobody")
    for part, sentence in (
        ("hosts", "The hosts from which the user in the name may impersonate others."),
        ("groups", "The groups whose members the user in the name may impersonate."),
        ("users", "The users that the user in the name may impersonate."),
    )
)


@dataclass(frozen=True, slots=True)
class Identity:
    """How clients authenticate: at most one method for passwords, and Kerberos or tokens beside it.
    `rules` are the rules of impersonation by user."""

    methods: frozenset[Auth] = made_of(METHODS, factory=lambda: METHODS.default_value)
    ldap: Ldap | None = optional_group(Ldap)
    kerberos: KerberosService | None = made_of(_PRINCIPAL_ROW, _KEYTAB, factory=lambda: None)
    spnego: KerberosService | None = made_of(
        _SPNEGO_PRINCIPAL, _SPNEGO_KEYTAB, factory=lambda: None
    )
    qop: Qop = made_of(_QOP, factory=lambda: Qop.AUTH)
    auth_to_local: AuthToLocal = made_of(AUTH_TO_LOCAL, factory=AuthToLocal)
    jwt: Jwt | None = optional_group(Jwt)
    password_file: SecretFile | None = setting("proxy.password.file",
        SECRET_FILE, "", RESTART,
        "For `FILE`: a line for each user, which `causeway password NAME` makes.", needed=_NEEDED)
    custom: str = setting("hive.server2.custom.authentication.class",
        SettingKind("`module:name`", _callable, empty=""), "", RESTART,
        "For `CUSTOM`: a Python callable.", needed=_NEEDED)
    substitution: bool = setting("hive.server2.allow.user.substitution", FLAG, "true", RESTART,
        "`false`: no user may impersonate.")
    rules: Mapping[str, ProxyRule] = made_of(*_RULES, factory=dict)


# fmt: on
def is_rule(name: str) -> bool:
    """Whether a setting is one of `hadoop.proxyuser.<user>.`, whose names contain a user's name."""
    return _RULE.fullmatch(name) is not None


def read(reader: SettingsReader) -> Identity:
    """Reads the settings, without those of methods that are not in use."""
    methods, qop = reader.read(METHODS), reader.read(_QOP)
    kerberos = service(reader, _PRINCIPAL_ROW, _KEYTAB) if Auth.KERBEROS in methods else None
    with_spnego = kerberos is not None and reader.is_set(_SPNEGO_PRINCIPAL)
    if qop is not Qop.AUTH and kerberos is None and not reader.is_wrong(METHODS):
        reader.report(_QOP, f"{qop.value} needs {Auth.KERBEROS.value}")
    unused: dict[str, object] = {} if Auth.FILE in methods else {"password_file": None}
    unused |= {} if Auth.CUSTOM in methods else {"custom": ""}
    return reader.group(
        Identity,
        methods=methods,
        ldap=_ldap(reader) if Auth.LDAP in methods else None,
        kerberos=kerberos,
        spnego=service(reader, _SPNEGO_PRINCIPAL, _SPNEGO_KEYTAB) if with_spnego else None,
        qop=qop,
        auth_to_local=reader.read(AUTH_TO_LOCAL),
        jwt=reader.group(Jwt) if Auth.JWT in methods else None,
        rules=_rules(reader.values),
        **unused,
    )


def service(
    reader: SettingsReader, principal: Setting[str], keytab: Setting[SecretFile]
) -> KerberosService:
    """The service that two settings name."""
    return KerberosService(reader.read(principal), reader.read(keytab))


def _ldap(reader: SettingsReader) -> Ldap:
    ldap = reader.group(Ldap)
    file = reader.read(_BIND_PASSWORD_FILE)
    if file is not None and ldap.bind_password:
        reader.report(_BIND_PASSWORD_FILE, f"{_LDAP}bindpw is set, too")
    if bool(ldap.bind_dn) != bool(ldap.bind_password or reader.is_set(_BIND_PASSWORD_FILE)):
        name = _BIND_PASSWORD_FILE.name
        reader.report(_BIND_DN, f"it and {_LDAP}bindpw, or {name}, go together")
    below_base = (f"{ldap.guid}=%s,{ldap.base}",) if ldap.base else ()
    return replace(
        ldap,
        bind_password_file=file,
        user_patterns=ldap.user_patterns or below_base,
        group_patterns=ldap.group_patterns or below_base,
    )


def _rules(values: Mapping[str, str]) -> dict[str, ProxyRule]:
    rules: dict[str, dict[str, frozenset[str]]] = {}
    for name, text in values.items():
        match = _RULE.fullmatch(name)
        if match is not None:
            rules.setdefault(match[1], {})[match[2]] = frozenset(comma_separated(text))
    return {user: ProxyRule(**rule) for user, rule in rules.items()}
