"""hive-jdbc 2.3, 3.1, 4.0 and Kyuubi's driver receive the same through Causeway as directly, also
from each call of java.sql.DatabaseMetaData.

The drivers' standalone jars come from Maven; tests of drivers that it does not have are skipped.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.results.jdbc import compiled, fetched_driver, fetched_jar
from cli.stack.java import find_java
from cli.stack.stack import spark_home
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.support.fronts import DATABASE, Fronts

pytestmark = pytest.mark.e2e

_KYUUBI = "org.apache.kyuubi:kyuubi-hive-jdbc-shaded:1.9.2"
_PROGRAM = Path(__file__).parent / "JdbcProbe.java"
_NUMBERED = re.compile(r"#\d+L?|(stage|[Tt]ask|TID) [\d.]+")
_STACK = re.compile(r"(\\n)+\tat .*|org\.apache\.hive\.service\.cli\.HiveSQLException: ")
_NO_REASON = "SQLException null 0 null"  # a Thrift Server asked within 40 ms of a failure
Probe = Callable[..., dict[str, dict[str, str]]]


def standalone(version: str, folder: Path) -> Path:
    """The driver with all it needs, in one jar."""
    try:
        return fetched_driver(version, folder)
    except LookupError as error:
        pytest.skip(f"hive-jdbc: {error}")


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """Runs the program with a driver. Returns its output, by URL and fact."""
    folder = tmp_path_factory.mktemp("jdbc")
    try:
        compiled(_PROGRAM, folder)
    except LookupError as error:
        pytest.skip(f"hive-jdbc: {error}")

    def run(drivers: str, **urls: str) -> dict[str, dict[str, str]]:
        words = [str(find_java()), "-Xmx512m", "-cp", f"{folder}:{drivers}", "JdbcProbe"]
        words += [DATABASE, *(f"{name}={url}" for name, url in urls.items())]
        done = subprocess.run(words, capture_output=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return _read(done.stdout.decode())

    return run


def _read(text: str) -> dict[str, dict[str, str]]:
    results: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith("== "):
            facts = results.setdefault(line.removeprefix("== "), {})
        else:
            what, _, answer = line.partition(": ")
            facts[what] = answer
    return results


def _same(direct: dict[str, str], other: dict[str, str]) -> None:
    assert len(other) > 150
    # The proxy answers USE itself, in the words of Spark 3.5: Spark 4 has others.
    for what in other.keys() - ({"error of USE no_such"} if SPARK_MAJOR >= 4 else set()):
        answer = direct[what]
        if not answer.endswith(_NO_REASON):
            assert _bare(other[what]) == _bare(answer), what


def _bare(answer: str) -> str:
    """The text without stack traces and without Spark's numbers of jobs and expressions."""
    return _NUMBERED.sub("#", _STACK.sub("", answer))


@pytest.fixture(scope="module")
def trust(fronts: Fronts, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The parts of a URL that make Java trust the certificate."""
    keytool = find_java().parent / "keytool"
    store = tmp_path_factory.mktemp("trust") / "trust.p12"
    words = [str(keytool), "-importcert", "-noprompt", "-alias", "causeway", "-storepass", "secret"]
    words += ["-file", str(fronts.ca), "-keystore", str(store), "-storetype", "PKCS12"]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    return f"ssl=true;sslTrustStore={store};trustStorePassword=secret"


HTTP = "transportMode=http;httpPath=cliservice"
VARIABLES = "?#greeting=hello"


def test_hive_jdbc_4(
    probe: Probe, fronts: Fronts, trust: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    jar = standalone("4.0.1", tmp_path_factory.mktemp("jdbc4"))
    results = probe(
        str(jar),
        direct=f"jdbc:hive2://{fronts.direct}/{DATABASE}{VARIABLES}",
        tls_brief=f"jdbc:hive2://{fronts.secure.binary}/{DATABASE};{trust}{VARIABLES}",
        binary=f"jdbc:hive2://{fronts.plain.binary}/{DATABASE}{VARIABLES}",
        http_brief=f"jdbc:hive2://{fronts.plain.http}/{DATABASE};{HTTP}{VARIABLES}",
    )
    for way in ("tls_brief", "binary", "http_brief"):
        _same(results["direct"], results[way])


@pytest.mark.long  # 2.3 and 4.0 stand for it; beeline talks HTTPS
def test_hive_jdbc_3(
    probe: Probe, fronts: Fronts, trust: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    jar = standalone("3.1.3", tmp_path_factory.mktemp("jdbc3"))
    results = probe(
        str(jar),
        direct_brief=f"jdbc:hive2://{fronts.direct}/{DATABASE}{VARIABLES}",
        https_brief=f"jdbc:hive2://{fronts.secure.http}/{DATABASE};{HTTP};{trust}{VARIABLES}",
    )
    _same(results["direct_brief"], results["https_brief"])


def test_hive_jdbc_2(probe: Probe, fronts: Fronts) -> None:
    results = probe(
        f"{spark_home()}/jars/*",
        direct_brief=f"jdbc:hive2://{fronts.direct}/{DATABASE}{VARIABLES}",
        binary_brief=f"jdbc:hive2://{fronts.plain.binary}/{DATABASE}{VARIABLES}",
    )
    _same(results["direct_brief"], results["binary_brief"])


@pytest.mark.clients
def test_kyuubi_jdbc(probe: Probe, fronts: Fronts, trust: str, tmp_path: Path) -> None:
    try:
        jar = fetched_jar(_KYUUBI, tmp_path)
    except LookupError as error:
        pytest.skip(f"Kyuubi's driver: {error}")
    results = probe(
        str(jar),
        direct=f"jdbc:hive2://{fronts.direct}/{DATABASE}{VARIABLES}",
        tls_brief=f"jdbc:hive2://{fronts.secure.binary}/{DATABASE};{trust}{VARIABLES}",
        binary=f"jdbc:kyuubi://{fronts.plain.binary}/{DATABASE}{VARIABLES}",
        http=f"jdbc:hive2://{fronts.plain.http}/{DATABASE};{HTTP}{VARIABLES}",
    )
    for way in ("tls_brief", "binary", "http"):
        _same(results["direct"], results[way])


def test_a_pool_of_connections(fronts: Fronts, tmp_path: Path) -> None:
    """HikariCP: four threads share two connections, tested by a statement or by isValid."""
    jars = f"{spark_home()}/jars/*"
    try:
        compiled(_PROGRAM.with_name("PoolProbe.java"), tmp_path, jars)
    except LookupError as error:
        pytest.skip(f"HikariCP: {error}")
    urls = [f"jdbc:hive2://{fronts.plain.binary}/{DATABASE}"]
    urls += [f"jdbc:hive2://{fronts.plain.http}/{DATABASE};{HTTP}"]
    words = [str(find_java()), "-Xmx256m", "-cp", f"{tmp_path}:{jars}", "PoolProbe", "4", "2"]
    words += [f"{test}={url}" for url in urls for test in ("", "SELECT 1")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["72"] * 4, done.stderr[-3000:]


def test_beeline_over_https(fronts: Fronts, trust: str) -> None:
    words = [str(find_java()), "-Xmx256m", "-cp", f"{spark_home()}/jars/*"]
    url = f"jdbc:hive2://{fronts.secure.http}/{DATABASE};{HTTP};{trust}"
    words += ["org.apache.hive.beeline.BeeLine", "-u", url, "-n", "ann", "-p", "x"]
    words += ["--silent=true", "--showHeader=false", "--outputformat=tsv2"]
    words += ["-e", "SHOW CLUSTERS;", "-e", "SELECT i, st, ar FROM types ORDER BY i;"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("c1\t")
    assert lines[-2:] == ["1\té\t[1,null]", "2\tNULL\tNULL"]
