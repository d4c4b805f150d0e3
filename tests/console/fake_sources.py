"""Sources with facts of the test's own."""

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from conf.names import ClusterName
from conf.settings.settings import Settings
from conf.topology import Endpoint
from console.app import make_app
from console.errors import Refused, SourceDown
from console.sources import Sources
from console.sources.proxies_client import Answers
from console.sources.sql_client import SqlRun
from tests.conf.settings.reading import settings_from
from tests.console.fake_places import FakeHudi, FakeLifecycle, FakeMetastore

PROXY = Endpoint("127.0.0.1", 10099)
CLUSTERS = (
    '{"east": {"FileSystem": "hdfs://e", "JobTracker": "e:1"},'
    ' "west": {"FileSystem": "hdfs://w", "JobTracker": "w:1"}}'
)
PASSWORD = "correct horse"


@dataclass(slots=True)
class FakeProxies:
    """`running`, `found`, `open` and `copying` are lists of REST; `explained` is by text. `down`
    makes all fail."""

    running: list[dict[str, Any]] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)
    open: list[dict[str, Any]] = field(default_factory=list)
    copying: list[dict[str, Any]] = field(default_factory=list)
    explained: dict[str, Any] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)
    drained: list[tuple[str, bool]] = field(default_factory=list)
    measured: str = ""
    down: bool = False

    async def statements(self) -> Answers:
        return self._answers(self.running)

    async def clusters(self) -> Answers:
        return self._answers(self.found)

    async def sessions(self) -> Answers:
        return self._answers(self.open)

    async def copies(self) -> Answers:
        return self._answers(self.copying)

    async def explain(self, sql: str, database: str = "default", cluster: str = "") -> Any:
        self._answers([])
        if sql not in self.explained:
            raise Refused("There is no parameter sql, or no cluster is configured.")
        return self.explained[sql]

    async def metrics(self) -> str:
        self._answers([])
        return self.measured

    async def drain(self, cluster: str, resume: bool = False) -> None:
        self.drained.append((cluster, resume))

    async def kill_statement(self, statement: str) -> None:
        self._answers([])
        self.killed.append(statement)

    def _answers(self, rows: list[dict[str, Any]]) -> Answers:
        if self.down:
            raise SourceDown("the proxy", "127.0.0.1:10099: Connection refused")
        return Answers({PROXY: rows})


@dataclass(slots=True)
class FakeHistory:
    statements: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def answer(self, question: str, parameters: dict[str, str]) -> dict[str, Any]:
        return self.answers.get(question, {question: []})

    async def page(self, parameters: dict[str, str]) -> dict[str, Any]:
        self.asked.append(parameters)
        return {"statements": self.statements, "next": None}

    async def recent(self) -> list[dict[str, Any]]:
        return self.statements

    async def statement(self, number: str) -> dict[str, Any] | None:
        return next((x for x in self.statements if x["statement"] == number), None)


@dataclass(slots=True)
class FakeSql:
    started: list[SqlRun] = field(default_factory=list)

    def start(
        self, user: str, sql: str, database: str = "", limit: float = 0, about: str = ""
    ) -> SqlRun:
        self.started.append(SqlRun(user, sql, about=about))
        return self.started[-1]

    def run(self, name: str, user: str) -> SqlRun | None:
        return next((x for x in self.started if (x.name, x.user) == (name, user)), None)

    def runs(self, about: str = "") -> list[SqlRun]:
        return [each for each in self.started if each.about.startswith(about)]

    def cancel(self, run: SqlRun) -> None:
        run.ended = run.began


def settings_of(**values: str) -> Settings:
    """Settings with two clusters; names have `__` for dots."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    return settings_from(
        {"hive.cluster.properties": CLUSTERS, "hive.default.cluster.name": "east"} | named, "test"
    )


def fake_sources() -> Sources:
    fakes: Any = (
        *(FakeProxies(), FakeHistory(), FakeSql()),
        *(FakeMetastore(), FakeLifecycle(), FakeHudi()),
    )
    return Sources(*fakes)


def open_app(sources: Sources | None = None) -> Starlette:
    """A console without log-in, whose user is an administrator."""
    return make_app(settings_of(), sources or fake_sources())


def _line(user: str) -> str:
    """A line of a password file whose hash takes the least time."""
    hashed = hashlib.scrypt(PASSWORD.encode(), salt=bytes(16), n=1 << 10, r=8, p=1, dklen=32)
    salt, text = (base64.b64encode(each).decode().rstrip("=") for each in (bytes(16), hashed))
    return f"{user}:$scrypt$ln=10,r=8,p=1${salt}${text}"


def app_with_passwords(folder: Path, sources: Sources | None = None, **values: str) -> Starlette:
    """A console whose users vic (viewer), olga (operator), ada (administrator) and ann (none of
    these) log in with PASSWORD."""
    file = folder / "passwords"
    users = ("ann", "vic", "olga", "ada")
    file.write_text("".join(f"{_line(user)}\n" for user in users))
    file.chmod(0o600)
    settings = settings_of(
        hive__server2__authentication="FILE",
        proxy__password__file=str(file),
        console__viewers="vic",
        console__operators="olga",
        console__administrators="ada",
        **values,
    )
    return make_app(settings, sources or fake_sources())


def obstacle(cluster: str, table: str, kind: str = "absent", **more: Any) -> dict[str, Any]:
    return {
        "cluster": ClusterName(cluster),
        "kind": kind,
        "table": table,
        "partitions": None,
        "first": [],
        "other": None,
    } | more


def considered(cluster: str, *obstacles: dict[str, Any], chosen: bool = False) -> dict[str, Any]:
    rule = {"cluster": cluster, "rule": "inputs", "chosen": chosen}
    return rule | {"obstacles": list(obstacles)}


def statement(number: str, **fields: Any) -> dict[str, Any]:
    """A statement of the history that was refused: east lacks s.visits, west lacks s.orders."""
    text = "SELECT * FROM s.orders JOIN s.visits USING (customer)"
    return {
        "time": "2026-01-31T06:00:00.000Z",
        "statement": number,
        "proxy": "gateway7",
        "session": "5e55",
        "user": "ann",
        "by": "ann",
        "address": "10.0.0.7",
        "application": "beeline",
        "text": text,
        "length": len(text),
        "sha256": "",
        "fingerprint": "f1",
        "database": "default",
        "cluster": "",
        "rule": "inputs",
        "because": "No cluster has all inputs.",
        "considered": [
            considered("east", obstacle("east", "s.visits")),
            considered("west", obstacle("west", "s.orders")),
        ],
        "reads": [
            {"table": "s.orders", "partitions": None, "first": []},
            {"table": "s.visits", "partitions": None, "first": []},
        ],
        "writes": [],
        "code": "CW104",
        "refused": True,
        "state": "ERROR",
        "seconds": 0.004,
        "phases": {"analyse": 0.002, "decide": 0.001},
        "rows": 0,
        "bytes": 0,
        "closed": True,
        "error": "[CW104] No cluster has all inputs.",
        "blame": "client",
    } | fields


def state_of(table: str, cluster: str, state: str, **more: Any) -> dict[str, Any]:
    """A row of `tables` of GET /v1/explain."""
    return {
        "table": table,
        "cluster": cluster,
        "state": state,
        "partitions": None,
        "primary": None,
        "fresh": None,
        "stale": None,
        "absent": None,
        "first": [],
        "stale_since": None,
        "lag": None,
        "files": 2,
        "bytes": 4_200_000,
    } | more


def explained(decision: str = "refuse", cluster: str | None = None, **more: Any) -> dict[str, Any]:
    """The answer of GET /v1/explain for the text of `statement`."""
    return {
        "decision": decision,
        "cluster": cluster,
        "rule": "inputs",
        "because": "because of the test",
        "reads": ["s.orders", "s.visits"],
        "writes": [],
        "code": "CW104" if decision == "refuse" else None,
        "considered": statement("x")["considered"],
        "tables": [
            state_of("s.orders", "east", "primary"),
            state_of("s.orders", "west", "absent"),
            state_of("s.visits", "east", "absent"),
            state_of("s.visits", "west", "primary"),
        ],
    } | more
