"""ARCHITECTURE.md names the rules of imports that lint-imports checks; imported names exist; tests
lie where their subject lies."""

import ast
import importlib
import importlib.util
import re
import tomllib
from collections import defaultdict
from pathlib import Path

from conf.logs.logs import ROOMS as ROOMS_WITH_LOGS

ROOT = Path(__file__).parents[1]
ROOMS = (
    "conf",
    "thriftcodec",
    "saslauth",
    "telemetry",
    "database",
    "dialect",
    "router",
    "metastore",
    "advice",
    "proxy",
    "pipeline",
    "console",
    "cli",
)
# Folders of tests that concern no room, or all of them.
OF_NO_ROOM = ("charts", "docs", "e2e", "fuzz", "guard", "sessions")
# Tests that have the name of a module in another folder, and the reason.
NAMED_ALIKE = {
    "pipeline/spark/test_endpoints.py": "endpoints as Spark's file systems, not their list",
}
# Private attributes of libraries: PySpark, PyHive, Thrift, OpenLineage, and os._exit.
OF_LIBRARIES = frozenset(
    {"_jvm", "_jsc", "_jdf", "_jsparkSession", "_gateway", "_client", "_connection", "_transport"}
    | {"_state", "_STATE_RUNNING", "_reset_state", "_check_status", "_operationHandle"}
    | {"_sessionHandle", "_VALUES_TO_NAMES", "_get_schema", "_exit"}
)
# Private attributes that tests still look at. Take some away; add none.
LOOKED_AT = {
    "console/sources/test_sql_client.py: _endpoint",
    "e2e/operations/lost_clients.py: _read",
    "e2e/operations/lost_clients.py: _socket",
    "e2e/operations/test_faults.py: _socket",
    "metastore/view/server/test_lookup_runner.py: _newer",
    "pipeline/scheduler/test_alert_sender.py: _database",
    "proxy/administration/test_finish.py: _limiter",
    "proxy/operations/history/test_history_runner.py: _server",
    "proxy/statement/analysis/test_analyzer_pool.py: _in_loop",
    "proxy/statement/analysis/test_analyzer_pool.py: _in_processes",
    "proxy/statement/analysis/test_analyzer_pool.py: _lanes",
    "proxy/statement/analysis/test_analyzer_process.py: _process",
}
IMPORT = re.compile(
    rf"^ *from ((?:{'|'.join((*ROOMS, 'bench'))})(?:\.[\w.]+)?) import (\([^)]*\)|.*)", re.MULTILINE
)


def test_architecture_lists_the_import_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = [each["name"] for each in settings["tool"]["importlinter"]["contracts"]]
    section = (
        (ROOT / "ARCHITECTURE.md").read_text().split("## Rules of imports")[1].split("\n## ")[0]
    )
    assert sorted(re.findall(r"^- \*\*([^*]+)\*\*", section, re.MULTILINE)) == sorted(contracts)


def test_the_level_of_the_log_holds_in_every_room() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert sorted(ROOMS_WITH_LOGS) == sorted(settings["tool"]["importlinter"]["root_packages"])


def test_architecture_lists_the_layers_in_the_order_of_the_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract["name"] != (
            "authentication and protocol import no other room of the proxy"
        ):
            assert ", ".join(f"`{each}`" for each in contract["layers"]) in text, contract["name"]


def test_every_imported_name_exists() -> None:
    """Also those that a function imports, which only fail when it runs."""
    imported = {
        (module, name.split()[0]): path
        for room in (*ROOMS, "bench", "tests")
        for path in (ROOT / room).rglob("*.py")
        for module, names in IMPORT.findall(path.read_text())
        for name in re.sub(r"#.*|[()]", "", names).split(",")
        if name.strip()
    }
    assert len(imported) > 1000
    missing = [
        f"{path}: {module}.{name}"
        for (module, name), path in imported.items()
        if not _exists(module, name)
    ]
    assert missing == []


def test_folders_of_tests_mirror_the_product() -> None:
    """`tests/proxy/auth/ldap` has the tests of `proxy/auth/ldap`."""
    tests = [path.parent.relative_to(ROOT / "tests") for path in _tests()]
    assert len(tests) > 200
    lost = {str(each) for each in tests if not (ROOT / each / "__init__.py").is_file()}
    assert lost == set()


def test_tests_of_a_module_lie_in_the_mirror_of_its_folder() -> None:
    """`router/route.py` has `tests/router/test_route.py`. A test with another name, or in a folder
    above, is about a subject of several modules there."""
    modules = defaultdict(set)
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            modules[room, path.stem].add(path.parent.relative_to(ROOT))
    astray = {}
    for path in _tests():
        place = path.relative_to(ROOT / "tests")
        homes = modules.get((place.parts[0], path.stem.removeprefix("test_")), set())
        if homes and not any(home.is_relative_to(place.parent) for home in homes):
            astray[str(place)] = sorted(map(str, homes))
    assert sorted(astray) == sorted(NAMED_ALIKE), astray


def test_lanes_collect_all_tests_of_the_real_stack() -> None:
    """`make` collects the folder tests/e2e and files that it names."""
    (named,) = re.findall(r"^E2E := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    folder, *files = named.split()
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if "mark.e2e" in path.read_text()
    } - {"tests/test_architecture.py"}
    assert {each for each in found if not each.startswith(f"{folder}/")} == set(files)
    apart = {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("test_*.py")}
    assert apart <= found, "lanes without a stack do not collect this folder"


def test_no_test_looks_at_private_attributes() -> None:
    """What a test asserts or changes is what others could see or do, too. A test may not replace a
    private attribute by its name either: `monkeypatch.setattr(x, "_y", ..)`."""
    found = {
        f"{path.relative_to(ROOT / 'tests')}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (_attribute(node), _replaced(node))
        if name.startswith("_") and not name.startswith("__") and name not in OF_LIBRARIES
    }
    assert found == LOOKED_AT


def _attribute(node: ast.AST) -> str:
    """The attribute that the node reads from another object; empty for another node."""
    if isinstance(node, ast.Attribute) and not _is_own(node.value):
        return node.attr
    return ""


def _replaced(node: ast.AST) -> str:
    """The attribute that a call of `setattr` replaces by its name; empty for another node, and for
    a constant, which tests may make smaller."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr")):
        return ""
    names = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
    name = str(names[0]).rpartition(".")[2] if names else ""
    return "" if name.isupper() else name


def _is_own(value: ast.expr) -> bool:
    """Whether it is the object, or the class, of the method itself."""
    if isinstance(value, ast.Call):
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def _tests() -> list[Path]:
    """The files of tests that concern one room."""
    found = (ROOT / "tests").glob("*/**/test_*.py")
    return [each for each in found if each.relative_to(ROOT / "tests").parts[0] not in OF_NO_ROOM]


def _exists(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None
