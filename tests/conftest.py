"""The environment of every process that a test starts: its Java compiler, its import path and the
cache of its compiled modules; and a PostgreSQL for the tests of stores. Marks that no lane of `make
test` takes are refused."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from pipeline.spark.jar import SPARK_MAJOR

# A test's Java lives for a minute and never gets back what the second compiler costs: a Thrift
# Server that starts and runs four statements takes half the processor time without it. A collector
# of several threads costs a Spark of that size another twentieth.
# With little room for classes it collects garbage each time that it has loaded some more.
# With the first compiler alone it has 48 MB for compiled code, not 240. A server of the shared
# stack fills them in 20 minutes, and then Spark stops.
_QUICK = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=256m"
)
# Hadoop asks programs (`chmod`, `ls`) about each local file: Java starts them without a program
# between. The embedded metastore's database need not outlive the machine.
_QUICK += " -Djdk.lang.Process.launchMechanism=VFORK -Dderby.system.durability=test"
# The classes that Spark loads are mapped from an archive, where `make test` has made one.
_ARCHIVE = Path(__file__).resolve().parents[1] / "build" / "spark.jsa"
# To verify the classes that a Spark loads takes a sixth of its start. The guard changes classes as
# they are loaded: the tests of the guard, of `causeway up` and of Spark 4 verify them.
_UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
_ARCHIVED = f' "-XX:SharedArchiveFile={_ARCHIVE}"' if _ARCHIVE.exists() else ""
os.environ.setdefault(
    "JDK_JAVA_OPTIONS", _QUICK if SPARK_MAJOR >= 4 else f"{_QUICK} {_UNVERIFIED}{_ARCHIVED}"
)

# A Python process that a test starts imports the code under test, also where the installed package
# is older: an editable installation knows only the top-level packages that there were.
_ROOT = str(Path(__file__).resolve().parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])

# Containers often forbid Python to keep compiled modules. Each of the many proxies, workers and
# views that tests start would compile the code under test again, and pytest all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No example is too slow because the machine does other work.
settings.register_profile("causeway", settings(), deadline=None)
settings.load_profile("causeway")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raises UsageError for a test with both marks: it would be in no lane of `make test`."""
    for item in items:
        if item.get_closest_marker("slow") and item.get_closest_marker("e2e"):
            raise pytest.UsageError(f"{item.nodeid} is marked slow, and e2e too")


@pytest.fixture(scope="module")
def verified_java() -> Iterator[None]:
    """A Java that is started verifies the classes that it loads, as it does for users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", os.environ["JDK_JAVA_OPTIONS"].replace(_UNVERIFIED, ""))
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A server of our own on a Unix socket; skipped where PostgreSQL or psycopg is absent."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if shutil.which("pg_ctl") is None or shutil.which("initdb") is None:
        pytest.skip("PostgreSQL's pg_ctl and initdb are not on PATH")
    home = Path(tempfile.mkdtemp(prefix="causeway-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = ["runuser", "-u", "nobody", "--"]
        home.chmod(0o777)
    start = [*as_user, "initdb", "-D", f"{home}/data", "-U", "causeway", "-A", "trust"]
    made = subprocess.run(start, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"initdb does not run here: {made.stderr.strip()[-200:]}")
    options = f"-k {home} -c listen_addresses='' -c fsync=off"
    control = [*as_user, "pg_ctl", "-D", f"{home}/data", "-w"]
    subprocess.run(
        [*control, "-o", options, "-l", f"{home}/data/log", "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"postgresql://causeway@/postgres?host={home}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(home, ignore_errors=True)
