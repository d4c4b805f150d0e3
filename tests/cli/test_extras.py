"""The proxy and its commands run with what `pip install causeway` installs; others name theirs."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from cli.extras import EXTRAS
from cli.stack.stack import free_ports

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_NAME = re.compile(r"[\w.-]+")
NEED_MORE = {"up": "spark", "lifecycle": "history", "incremental": "hudi"}
_HIDING = """
import sys
from importlib.abc import MetaPathFinder
class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
from cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed_by(requirements: list[str]) -> set[str]:
    """The distributions that these requirements install, with all that they require."""
    found: set[str] = set()
    left = list(requirements)
    while left:
        requirement = left.pop()
        match = _NAME.match(requirement)
        assert match is not None
        name = _normal(match[0])
        if name in found or "extra ==" in requirement:
            continue
        try:
            more = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another platform or version of Python
            continue
        found.add(name)
        left += more
    return found


def hidden() -> set[str]:
    """The modules of this environment that `pip install causeway` does not install."""
    base = _installed_by(PROJECT["dependencies"]) | {"causeway", "pip", "setuptools"}
    modules = metadata.packages_distributions()
    return {name for name, owners in modules.items() if not {_normal(o) for o in owners} & base}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    program = _HIDING.format(hidden=hidden())
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True, text=True, timeout=60, cwd=ROOT, check=False,
    )  # fmt: skip


def test_what_is_hidden() -> None:
    assert {"pyspark", "pyarrow", "fastavro", "pyhive", "starlette", "sqlalchemy"} <= hidden()
    assert not {"sqlglot", "thrift", "uvloop"} & hidden()


def test_the_table_of_extras_is_that_of_the_package() -> None:
    owners = metadata.packages_distributions()
    for module, extra in EXTRAS.items():
        named = _installed_by(PROJECT["optional-dependencies"][extra])
        assert {_normal(owner) for owner in owners[module]} & named, module


@pytest.mark.parametrize("subcommand", sorted(NEED_MORE))
def test_a_command_names_the_extra_that_it_needs(subcommand: str) -> None:
    done = run(subcommand, "--help")
    assert done.returncode == 1
    expected = rf"causeway: \[CW520\] `causeway {subcommand}` needs \w+: pip install"
    assert re.match(rf"{expected} 'causeway\[{NEED_MORE[subcommand]}\]'", done.stderr)


@pytest.mark.slow
def test_other_commands_need_none() -> None:
    done = run("completion", "bash")
    assert done.returncode == 0, done.stderr
    for words in ("serve --conf", "check --conf", "copy --to", "table assign", "metastore serve"):
        subcommand, _, option = words.partition(" ")
        assert run(subcommand, "--help").returncode == 0, subcommand
        assert option in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["serve --conf FILE", "entity list --store STORE", "history --conf FILE"]
)
def test_a_database_needs_the_extra_of_the_history(words: str, tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text(
        'proxy.upstream = "127.0.0.1:1"\nproxy.workers = 1\n'
        f'history.store = "{tmp_path}/history.db"\n'
    )
    store = tmp_path / "lifecycle.db"
    store.touch()
    (tmp_path / "history.db").touch()
    done = run(*words.replace("FILE", str(conf)).replace("STORE", str(store)).split())
    assert "needs sqlalchemy: pip install 'causeway[history]'" in done.stderr
    assert done.returncode == 1


def test_a_check_names_the_extra_of_the_history(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text(f'history.store = "{tmp_path}/history.db"\n')
    done = run("check", "--conf", str(conf))
    assert "sqlalchemy is not installed: pip install 'causeway[history]'" in done.stdout


@pytest.mark.slow
def test_the_proxy_starts(tmp_path: Path) -> None:
    conf = tmp_path / "causeway.toml"
    listen = free_ports(1)[0]
    conf.write_text(f'proxy.upstream = "127.0.0.1:1"\nhive.server2.thrift.port = {listen.port}\n')
    process = subprocess.Popen(
        [sys.executable, "-c", _HIDING.format(hidden=hidden()), "serve", "--conf", str(conf)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("listening")
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
