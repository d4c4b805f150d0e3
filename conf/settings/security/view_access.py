"""The log-in of the metastore views' clients, and the clusters for which each may speak."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from conf.kinds import DURATION, SECRET_FILE, SettingKind, choice, comma_separated
from conf.names import ClusterName
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, made_of
from conf.settings.security.authentication import SERVICE_PRINCIPAL, KerberosService, Qop, service

EVERY_CLUSTER = "*"
_SHORTEST_LIFETIME = 2 * 3600.0  # seconds: Spark's executors ask for a new token each hour
_PATTERN = re.compile(r"[^/@\s]+(/[^/@\s]+)?@[^/@\s*]+")


class ViewAuthentication(Enum):
    """`view.authentication`: how clients of the views authenticate."""

    NONE = "NONE"
    KERBEROS = "KERBEROS"


@dataclass(frozen=True, slots=True)
class CallerRule:
    """Principals that may speak for a cluster. In `pattern`, `*` is any text in one component."""

    pattern: str
    cluster: str

    def matches(self, principal: str) -> bool:
        parts = (re.escape(each) for each in self.pattern.split("*"))
        return re.fullmatch("[^/@]*".join(parts), principal) is not None


def _callers(text: str) -> tuple[CallerRule, ...]:
    rules = []
    for each in comma_separated(text):
        pattern, equals, cluster = (part.strip() for part in each.partition("="))
        if not equals or not cluster or _PATTERN.fullmatch(pattern) is None:
            raise ValueError(f"not name/host@REALM=cluster: {each!r}")
        rules.append(CallerRule(pattern, cluster))
    return tuple(rules)


# fmt: off
METHOD = Setting("view.authentication", choice(ViewAuthentication), "NONE", RESTART,
    "How clients of the metastore views authenticate: `NONE`, any client that reaches a view may"
    " call it; `KERBEROS`, by a ticket ([from keytabs to a running system](../guide/kerberos.md)).")
_NEEDED = f"{METHOD.name} = {ViewAuthentication.KERBEROS.value} needs it"
_PRINCIPAL = Setting("view.kerberos.principal", SERVICE_PRINCIPAL, "", RESTART,
    "The views' service principal, `hive/_HOST@REALM`; clusters name it in"
    " `hive.metastore.kerberos.principal`.", needed=_NEEDED)
_KEYTAB = Setting("view.kerberos.keytab", SECRET_FILE, "", RESTART,
    "The file with the keys of the views' service principal.", needed=_NEEDED)
_QOP = Setting("view.sasl.qop", choice(Qop), "auth", RESTART,
    "The least protection of messages that a client may choose: `auth` none, `auth-int` integrity,"
    " `auth-conf` confidentiality too. Clients may choose more.")
_CALLERS: Setting[tuple[CallerRule, ...]] = Setting("view.callers",
    SettingKind("list", _callers, {"type": ["string", "array"]}, ()), "", RESTART,
    "Who may speak for which cluster, as `PRINCIPAL=CLUSTER`, separated by commas:"
    " `spark-west/*@EXAMPLE.COM=west`. `*` is any text of a component, and the cluster `*` is every"
    " cluster, as for Causeway's own principal: `causeway/*@EXAMPLE.COM=*`.", needed=_NEEDED)
_TOKEN_KEYS: Setting[SecretFile | None] = Setting("view.token.key.file", SECRET_FILE, "", RESTART,
    "A file with keys, one a line of at least 32 characters, the same for all processes of the"
    " views. With it they issue delegation tokens to clients with a ticket, and accept them"
    " ([tokens](../guide/kerberos.md#delegation-tokens)). New tokens are made with the first key;"
    " tokens of the other keys stay valid.")
_TOKEN_LIFETIME = Setting("view.token.lifetime", DURATION, "168h", RESTART,
    "How long a delegation token of the views is valid; at least two hours.")


@dataclass(frozen=True, slots=True)
class ViewAccess:
    """`kerberos` is None if clients do not authenticate."""

    kerberos: KerberosService | None = made_of(METHOD, _PRINCIPAL, _KEYTAB, factory=lambda: None)
    qop: Qop = made_of(_QOP, factory=lambda: Qop.AUTH)
    callers: tuple[CallerRule, ...] = made_of(_CALLERS, factory=tuple)
    token_keys: SecretFile | None = made_of(_TOKEN_KEYS, factory=lambda: None)
    token_lifetime: float = made_of(
        _TOKEN_LIFETIME, factory=lambda: _TOKEN_LIFETIME.default_value
    )

    def clusters_of(self, principal: str) -> frozenset[str]:
        """The clusters for which a principal may speak, or EVERY_CLUSTER among them."""
        return frozenset(each.cluster for each in self.callers if each.matches(principal))


# fmt: on
def read(reader: SettingsReader, clusters: Collection[ClusterName]) -> ViewAccess:
    """Reads the settings. Without Kerberos its settings are problems."""
    if reader.read(METHOD) is not ViewAuthentication.KERBEROS:
        for row in (_PRINCIPAL, _KEYTAB, _QOP, _CALLERS, _TOKEN_KEYS, _TOKEN_LIFETIME):
            if reader.is_set(row) and reader.values[row.name].strip() != row.default:
                reader.report(row, f"it needs {METHOD.name} = KERBEROS")
        return ViewAccess()
    callers = reader.read(_CALLERS)
    for each in callers:
        if each.cluster != EVERY_CLUSTER and each.cluster not in clusters:
            known = ", ".join(clusters) or "no clusters"
            reader.report(_CALLERS, f"{each.cluster!r} is not one of {known}")
    if not clusters:
        reader.report(METHOD, "it needs hive.cluster.properties")
    kerberos, qop = service(reader, _PRINCIPAL, _KEYTAB), reader.read(_QOP)
    keys, lifetime = reader.read(_TOKEN_KEYS), reader.read(_TOKEN_LIFETIME)
    if lifetime < _SHORTEST_LIFETIME:
        reader.report(_TOKEN_LIFETIME, "less than two hours")
    if keys is not None and qop is Qop.AUTH_CONF:
        reader.report(_TOKEN_KEYS, f"with {_QOP.name} = auth-conf, tokens cannot be used")
    return ViewAccess(kerberos, qop, callers, keys, lifetime)
