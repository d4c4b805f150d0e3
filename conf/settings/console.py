"""Settings of `causeway console`: its address, its proxies, its log-ins, and its users' roles."""

from dataclasses import dataclass

from conf.kinds import ENDPOINT, ENDPOINTS, LIST, PORT, SECRET_PATH, TEXT, SettingKind
from conf.secrets import SecretFile
from conf.settings.rows import RESTART, Setting, SettingsReader, group, made_of, setting
from conf.settings.security.operator_issuer import (
    AUDIENCE,
    HTTPS_URL,
    ISSUER,
    OperatorIssuer,
    is_local,
)
from conf.settings.security.upstream_auth import Login, parse_login
from conf.topology import Endpoint

_JSON = {"type": ["string", "object"]}
_HAS_ROLE = "user names, or `*` for every user"
# fmt: off
_HOST = Setting("console.host", TEXT, "127.0.0.1", RESTART,
    "The address that the console listens on.")
_PORT = Setting("console.port", PORT, "10002", RESTART, "The port of the console.")
_URL = Setting("console.url", HTTPS_URL, "", RESTART,
    "The address of the console for browsers, which the issuer sends them back to.",
    shown="`console.host` and `console.port`")
LOGIN = Setting("console.login", SettingKind("JSON or TOML table", parse_login, _JSON, Login()), "",
    RESTART,
    "How the console logs in to the proxy to run a user's statement, which then runs as that user"
    " ([how](../guide/console.md#statements-that-users-run)): the keys `Authentication` to"
    " `CaFile` of [a cluster](#the-keys-of-a-cluster).", shown="the user's name, without proof")


CLIENT = Setting("console.oidc.client.id", TEXT, "", RESTART,
    "The console as a client of the issuer in `proxy.admin.oidc.issuer`: its users"
    " [log in there](../guide/console.md#log-in-with-openid-connect).", shown="no such log-in")


@dataclass(frozen=True, slots=True)
class OidcClient:
    """The console as a client of an issuer. `client` empty: users do not log in at an issuer."""

    client: str = made_of(CLIENT, factory=str)
    secret: SecretFile | None = setting("console.oidc.client.secret.file", SECRET_PATH, "", RESTART,
        "A file with the client's secret.", shown="none: a public client")
    scopes: tuple[str, ...] = setting("console.oidc.scopes", LIST, "profile", RESTART,
        "The scopes that the console asks for, beside `openid`; some issuers have one for groups.")
    name: str = setting("console.oidc.name", TEXT, "", RESTART,
        "What users call the issuer: \"Log in with NAME\".", shown="the issuer's host")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`proxies` are addresses of administration ports; empty: that of `proxy.admin.port`. `sql` is
    the address of the proxy that runs statements; None: that of the proxy in these settings."""

    listen: Endpoint = made_of(_HOST, _PORT, factory=lambda: Endpoint("127.0.0.1", 10002))
    url: str = made_of(_URL, factory=str)
    proxies: tuple[Endpoint, ...] = setting("console.proxies", ENDPOINTS, "", RESTART,
        "The administration ports of all proxies (`proxy.admin.port` of each), whose token is in"
        " `proxy.admin.token.file`.", shown="the one of `proxy.admin.port`")
    sql: Endpoint | None = setting("console.sql", ENDPOINT, "", RESTART,
        "The proxy that runs the statements of the console, by its binary transport.",
        shown="`hive.server2.thrift.bind.host` and `.port`")
    login: Login = made_of(LOGIN, factory=Login)
    viewers: tuple[str, ...] = setting("console.viewers", LIST, "", RESTART,
        f"Who may see everything, statements of other users too: {_HAS_ROLE}. Every other user that"
        " can log in sees where tables are, and runs statements of its own.", shown="nobody")
    operators: tuple[str, ...] = setting("console.operators", LIST, "", RESTART,
        f"Who may also make copies, kill statements and rerun instances: {_HAS_ROLE}.",
        shown="nobody")
    administrators: tuple[str, ...] = setting("console.administrators", LIST, "", RESTART,
        f"Who may also drain clusters, change feeds and end sessions of the console: {_HAS_ROLE}.",
        shown="nobody")
    oidc: OidcClient = group(OidcClient)


# fmt: on
def read(reader: SettingsReader, issuer: OperatorIssuer) -> ConsoleSettings:
    """Reads the settings. `issuer` is the one of `proxy.admin.oidc.issuer`."""
    oidc = reader.group(OidcClient)
    if oidc.client and not issuer.url and not reader.is_wrong(ISSUER):
        reader.report(CLIENT, f"it needs {ISSUER.name}")
    if oidc.client and oidc.client in issuer.audience:
        reader.report(CLIENT, f"{AUDIENCE.name} names it: a log-in in a browser would be a token")
    listen = Endpoint(reader.read(_HOST), reader.read(_PORT))
    if oidc.client and not reader.is_set(_URL) and not is_local(listen.host):
        reader.report(_URL, f"missing; {CLIENT.name} needs it where {_HOST.name} is {listen.host}")
    return reader.group(
        ConsoleSettings,
        listen=listen,
        login=reader.read(LOGIN, lambda text: parse_login(text, reader.shared)),
        oidc=oidc,
    )
