"""The files and commands of docs/guide/production.md, in a folder, with a metastore in memory."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cli.main import SUBCOMMANDS, build_parser, main
from conf.settings.load import examine, properties
from conf.settings.operating import Operating
from conf.settings.settings import Settings
from proxy.administration.admin import ENDING
from tests.docs.pages import ROOT
from tests.metastore.fake import FakeMetastore
from tests.secret_files import private

PAGE = (ROOT / "docs" / "guide" / "production.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.M | re.S)
NOT_RUN = "# not run"
_NAME = re.compile(r"^(?:#|<!--) (\S+)(?: -->)?$")
# What the tests do not have: users, packages, servers, and work in a cluster.
_ABSENT = ("useradd", "python3 -m venv", "/opt/", "createuser", "createdb", "systemctl")
PASSWORDS = ("ldap.password", "console.password", "thrift.password")


def files() -> dict[str, str]:
    """The files that the page shows, by the path in their first line."""
    found = {}
    for kind, text in BLOCKS:
        name = _NAME.match(text.partition("\n")[0])
        if kind != "sh" and name is not None:
            found[name[1]] = text.partition("\n")[2]
    return found


def commands() -> Iterator[str]:
    for kind, text in BLOCKS:
        if kind == "sh":
            yield from text.splitlines()


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Sandbox"]:
    monkeypatch.setenv("CAUSEWAY_STORE", str(tmp_path / "lifecycle.db"))
    monkeypatch.delenv("CAUSEWAY_CONF", raising=False)
    metastore = FakeMetastore()
    yield Sandbox(tmp_path, metastore)
    metastore.stop()


class Sandbox:
    """A folder in the place of the machine's root."""

    def __init__(self, root: Path, metastore: FakeMetastore) -> None:
        self._root = root
        self._metastore = str(metastore.endpoint)
        for folder in ("etc", "var/log", "var/lib"):
            (root / folder).mkdir(parents=True)

    def here(self, text: str) -> str:
        text = re.sub(r"(?<![\w/.])/(etc|var)/", rf"{self._root}/\1/", text)
        text = text.replace("meta1.example.com:9083", self._metastore)
        # Views that do not run.
        return re.sub(r"gw(\d)\.example\.com:908(\d)", r"127.0.0.1:\1\2", text)

    def path(self, name: str) -> Path:
        return self._root / name.lstrip("/")

    def write_files(self) -> None:
        self.path("/etc/causeway").mkdir(exist_ok=True)
        for name, text in files().items():
            if name.startswith("/etc/causeway/"):
                private(self.path(name), self.here(text))
        for name in PASSWORDS:
            private(self.path(f"/etc/causeway/{name}"), "s3cret")

    def settings(self) -> Settings:
        self.write_files()
        private(self.path("/etc/causeway/host.pem"), "")
        private(self.path("/etc/causeway/ca.pem"), "")
        found = examine(self.path("/etc/causeway/causeway.toml"))
        assert found.problems == ()
        return found.settings


@pytest.mark.slow
def test_the_commands_of_the_page(sandbox: Sandbox) -> None:
    """In their order; the files and passwords are there before Causeway's first command."""
    ran = []
    for line in commands():
        if line.endswith(NOT_RUN) or line.startswith("export "):
            continue
        words = shlex.split(sandbox.here(line))
        if words[0] == "causeway":
            if "causeway" not in ran:
                sandbox.write_files()
            assert main(words[1:]) == 0, line
        else:
            done = subprocess.run(
                ["sh", "-euc", sandbox.here(line)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"
        ran.append(words[0])
    assert ran.count("causeway") == 7
    assert ran.count("openssl") == 2


def test_what_is_not_run_cannot_be_run_or_is_valid() -> None:
    lines = [line.removesuffix(NOT_RUN).strip() for line in commands() if line.endswith(NOT_RUN)]
    assert len(lines) > 10
    for line in lines:
        if line.startswith("causeway "):
            build_parser(SUBCOMMANDS).parse_args(shlex.split(line)[1:])
        else:
            assert line.startswith(_ABSENT), line


def test_every_file_has_its_name_or_is_an_addition() -> None:
    others = [text.partition("\n")[0] for kind, text in BLOCKS if kind != "sh"]
    assert [line for line in others if _NAME.match(line) is None] == []
    assert {path for path in files() if not path.startswith("/")} == {
        "Kerberos",
        "hive-site.xml",
        "spark-defaults.conf",
    }


def test_kerberos_instead_of_ldap(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.settings()
    private(sandbox.path("/etc/causeway/hive.keytab"), "")
    path = sandbox.path("/etc/causeway/causeway.toml")
    added = tomllib.loads(files()["Kerberos"])
    text = "".join(
        line
        for line in path.read_text().splitlines(keepends=True)
        if not line.startswith(('"hive.server2.authentication', '"proxy.ldap'))
    )
    path.write_text(sandbox.here(files()["Kerberos"]) + text)
    found = examine(path)
    assert found.problems == ()
    assert found.settings.identity.kerberos is not None
    assert set(added) > {"hive.server2.authentication"}


def test_the_clusters_use_their_views_and_have_the_guard(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "hive-site.xml").write_text(files()["hive-site.xml"])
    site = properties(tmp_path / "hive-site.xml")
    written = tomllib.loads(files()["/etc/causeway/causeway.toml"])
    clusters = written["hive.cluster.properties"]
    views = [f"thrift://{each}" for each in clusters["east"]["MetastoreView"].split(",")]
    assert site["hive.metastore.uris"] == ",".join(views)
    assert "and port 9085" in PAGE
    assert clusters["west"]["MetastoreView"].endswith(":9085")
    spark = dict(line.split(" ", 1) for line in files()["spark-defaults.conf"].splitlines())
    guide = (ROOT / "docs" / "guide" / "guard.md").read_text()
    for name, cluster in clusters.items():
        assert spark.pop(f"spark.causeway.filesystem.{name}") == cluster["FileSystem"]
    documented = guide + (ROOT / "docs" / "reference" / "settings.md").read_text()
    documented += (ROOT / "docs" / "guide" / "operate.md").read_text()
    assert [name for name in spark if name not in documented] == []
    assert spark["spark.causeway.default.cluster"] == written["hive.default.cluster.name"]


def test_units_start_causeway_and_give_it_time_to_drain(sandbox: Sandbox) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(files()["/etc/systemd/system/causeway-proxy.service"])
    starts = [unit["Service"]["ExecStart"]]
    starts += re.findall(r"^\| `causeway-\w+` \| `\w+` \| `([^`]+)` \|", PAGE, re.M)
    assert len(starts) == 4
    for start in starts:
        program, *arguments = shlex.split(start)
        assert program == "/opt/causeway/bin/causeway"
        build_parser(SUBCOMMANDS).parse_args(arguments)
    operating: Operating = sandbox.settings().operating
    assert int(unit["Service"]["TimeoutStopSec"]) > operating.drain_timeout + ENDING
    writable = unit["Service"]["ReadWritePaths"].split()
    text = files()["/etc/causeway/causeway.toml"]
    for path in re.findall(r'"(/var/[^"]*)"', text):
        assert any(path.startswith(f"{each}/") for each in writable), path


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_the_load_balancer_takes_its_file(sandbox: Sandbox, tmp_path: Path) -> None:
    authority = sandbox.path("/etc/causeway/ca.pem")
    authority.parent.mkdir()
    line = next(each for each in commands() if each.startswith("openssl"))
    subprocess.run(["sh", "-euc", sandbox.here(line)], check=True, capture_output=True)
    path = tmp_path / "haproxy.cfg"
    path.write_text(sandbox.here(files()["/etc/haproxy/haproxy.cfg"]))
    done = subprocess.run(
        ["haproxy", "-c", "-f", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_balancer_and_prometheus_ask_the_ports_of_operators(sandbox: Sandbox) -> None:
    settings = sandbox.settings()
    assert settings.operating.admin is not None
    port = settings.operating.admin.port
    proxies = {str(each) for each in settings.console.proxies}
    assert proxies == {f"gw1.example.com:{port}", f"gw2.example.com:{port}"}
    balancer = files()["/etc/haproxy/haproxy.cfg"]
    assert balancer.count(f"check port {port} ") == len(proxies)
    jobs = {
        each["job_name"]: each["static_configs"][0]["targets"]
        for each in yaml.safe_load(files()["/etc/prometheus/prometheus.yml"])["scrape_configs"]
    }
    assert set(jobs["causeway"]) == proxies
    assert jobs["causeway-lifecycle"] == [str(settings.lifecycle.port)]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_takes_its_file(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.settings()
    path = tmp_path / "prometheus.yml"
    path.write_text(sandbox.here(files()["/etc/prometheus/prometheus.yml"]))
    shutil.copy(ROOT / "docs" / "examples" / "monitoring" / "alerts.yml", tmp_path)
    done = subprocess.run(
        ["promtool", "check", "config", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_libpq_finds_the_databases(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    settings = sandbox.settings()
    path = sandbox.path("/etc/causeway/pg_service.conf")
    text = path.read_text()
    assert {"[history]", "[lifecycle]"} <= set(text.splitlines())
    path.write_text(text.replace("db1.example.com", "127.0.0.1\nport=1"))
    monkeypatch.setenv("PGSERVICEFILE", str(path))
    with pytest.raises(psycopg.OperationalError, match="port 1 failed: Connection refused"):
        psycopg.connect(settings.operating.history_store, connect_timeout=5)
    for url in re.findall(r"--store (\S+)", PAGE):
        with pytest.raises(psycopg.OperationalError, match="port 1 failed: Connection refused"):
            psycopg.connect(url, connect_timeout=5)
    assert os.environ["PGSERVICEFILE"] == str(path)
