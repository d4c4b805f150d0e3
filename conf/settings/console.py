"""How `causeway console` is operated: its address, its proxies, and who may do what."""

from dataclasses import dataclass

from conf.settings.reading.kinds import ENDPOINT, ENDPOINTS, LIST, PORT, TEXT, Kind
from conf.settings.reading.rows import RESTART, Reader, Setting, made_of, setting
from conf.settings.security.upstream_auth import Login, parse_login
from conf.topology import Endpoint

_JSON = {"type": ["string", "object"]}
_HAS_ROLE = "user names, or `*` for every user"
# fmt: off
_HOST = Setting("console.host", TEXT, "127.0.0.1", RESTART,
    "The address that the console listens on.")
_PORT = Setting("console.port", PORT, "10002", RESTART, "The port of the console.")
LOGIN = Setting("console.login", Kind("JSON or TOML table", parse_login, _JSON, Login()), "",
    RESTART,
    "How the console logs in to the proxy to run a user's statement, which then runs as that user"
    " ([how](../guide/console.md#statements-that-users-run)): the keys `Authentication` to"
    " `CaFile` of [a cluster](#the-keys-of-a-cluster).", shown="the user's name, without proof")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`proxies` are the addresses of administration ports; empty: that of `proxy.admin.port`. `sql`
    is the proxy that runs statements; None: that of these settings."""

    listen: Endpoint = made_of(_HOST, _PORT, factory=lambda: Endpoint("127.0.0.1", 10002))
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


# fmt: on
def read(reader: Reader) -> ConsoleSettings:
    return reader.group(
        ConsoleSettings,
        listen=Endpoint(reader.read(_HOST), reader.read(_PORT)),
        login=reader.read(LOGIN, lambda text: parse_login(text, reader.shared)),
    )
