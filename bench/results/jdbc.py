"""Reads 30,000 rows with hive-jdbc 4.0.1, directly, through HAProxy and through Causeway.

    python -m bench.results.jdbc [--driver JAR] [--rounds N]

One JVM has a connection for each way, uses them by turns, and measures the time itself, after some
rounds that do not count. The driver requests the statement's status before each row until the
status says that there is a result set, which a Thrift Server never says; this counts as reading.
Separate columns have the time of executing, which is the cluster's work, and the time in which a
socket that decodes nothing reads the rows from the Thrift Server. Without --driver, Maven downloads
the driver.
"""

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.proxy import RawClient, fetch, haproxy
from bench.support.embedded import EAST, embedded
from cli.stack.java import find_java
from conf.topology import Endpoint
from proxy.protocol.cluster_calls import operation_call
from proxy.protocol.types import Orientation

VERSION, ROWS, PAGE, WARM = "4.0.1", 30_000, 1000, 15
RESULTS = {
    f"{ROWS:,} rows x 1": f"SELECT id FROM range({ROWS})",
    f"{ROWS:,} rows x 4": f"SELECT id, id * 2 AS twice, CAST(id AS DOUBLE) AS real,"
    f" CAST(id AS STRING) AS name FROM range({ROWS})",
}
TARGET = "<= 0.05 x"
PROGRAM = Path(__file__).parents[1] / "support" / "JdbcRows.java"


@dataclass(frozen=True, slots=True)
class Taken:
    """Milliseconds of one query: until it was executed, and from there to its last row."""

    executing: float
    reading: float

    @property
    def whole(self) -> float:
        return self.executing + self.reading


def fetched_driver(version: str, folder: Path) -> Path:
    """hive-jdbc with all it needs, in one jar, from Maven. Raises LookupError."""
    return fetched_jar(f"org.apache.hive:hive-jdbc:{version}:jar:standalone", folder)


def fetched_jar(artifact: str, folder: Path) -> Path:
    """The jar of `group:name:version[:type:classifier]`, from Maven. Raises LookupError."""
    maven = shutil.which("mvn")
    if maven is None:
        raise LookupError("no mvn here to fetch it with")
    words = [maven, "--quiet", "--batch-mode", "dependency:copy", f"-DoutputDirectory={folder}"]
    words.append(f"-Dartifact={artifact}")
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    _, name, version, *more = artifact.split(":")
    jar = folder / f"{'-'.join([name, version, *more[1:]])}.jar"
    if done.returncode or not jar.exists():
        raise LookupError(f"{artifact} is not to be had from Maven: {done.stdout[-300:]}")
    return jar


def compiled(program: Path, folder: Path, classpath: str = "") -> Path:
    """The folder, with the program's class in it. Raises LookupError."""
    compiler = find_java().parent / "javac"
    if not compiler.exists():
        raise LookupError("this Java has no compiler")
    words = [str(compiler), "-d", str(folder), "-cp", classpath or str(folder), str(program)]
    subprocess.run(words, check=True, timeout=120)
    return folder


def asked(
    classpath: str, sql: str, ways: Mapping[str, str], rounds: int, rows: int = ROWS
) -> dict[str, list[Taken]]:
    """What each round took, by way; a way is a URL without its `jdbc:hive2://`."""
    words = [str(find_java()), "-Xmx512m", "-cp", classpath, "JdbcRows"]
    words += [str(rounds), str(WARM), str(rows), sql]
    words += [f"{name}=jdbc:hive2://{url}" for name, url in ways.items()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    found: dict[str, list[Taken]] = {name: [] for name in ways}
    for line in done.stdout.splitlines():
        name, executed, read = line.split()
        found[name].append(Taken(int(executed) / 1e6, (int(read) - int(executed)) / 1e6))
    return found


def given(endpoint: Endpoint, sql: str, rounds: int) -> float:
    """Milliseconds in which all rows come in the driver's pages, without decoding."""
    times = []
    with RawClient(endpoint) as client:
        session = client.open()
        for number in range(WARM + rounds):
            operation = client.execute(session, sql)
            began = time.perf_counter()
            for _ in range(ROWS // PAGE):
                client.call(fetch(operation, Orientation.NEXT, PAGE))
            if number >= WARM:
                times.append((time.perf_counter() - began) * 1000)
            client.call(operation_call("CloseOperation", operation))
    return statistics.median(times)


def in_columns(what: str, found: Mapping[str, Sequence[Taken]]) -> Iterator[str]:
    """A line for each way; the first is what the others pair with."""
    base = next(iter(found.values()))
    for name, each in found.items():
        reading = _median(each, base, lambda taken: taken.reading)
        whole = _median(each, base, lambda taken: taken.whole)
        target = TARGET if name == "Causeway" else ""
        yield f"{what:16} {name:9} {reading}   {whole}  {target}"


def _median(mine: Sequence[Taken], base: Sequence[Taken], part: Callable[[Taken], float]) -> str:
    ratio = statistics.median(part(a) / part(b) for a, b in zip(mine, base, strict=True))
    return f"{statistics.median(map(part, mine)):9.1f} {ratio:6.3f} x"


def run(direct: Endpoint, proxy: Endpoint, driver: Path | None, rounds: int) -> None:
    """Prints the table."""
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        between = exits.enter_context(haproxy(direct))
        ways = {"direct": direct, **({"HAProxy": between[0]} if between else {}), "Causeway": proxy}
        urls = {name: f"{endpoint}/" for name, endpoint in ways.items()}
        jar = driver or fetched_driver(VERSION, folder)
        classpath = f"{compiled(PROGRAM, folder)}:{jar}"
        print(f"hive-jdbc {VERSION:6} {'':9} {'reading ms':>18}   {'and executing ms':>18}  target")
        for what, sql in RESULTS.items():
            for line in in_columns(what, asked(classpath, sql, urls, rounds)):
                print(line, flush=True)
            raw = given(direct, sql, rounds)
            print(
                f"{what:16} {'server':9} {raw:9.1f}   to a socket that decodes nothing", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.results.jdbc", description=__doc__)
    parser.add_argument("--driver", type=Path, help="hive-jdbc's standalone jar")
    parser.add_argument("--rounds", type=int, default=11, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST) as (stack, listen):
        run(stack.ports.hs2[EAST], listen, args.driver, args.rounds)


if __name__ == "__main__":
    main()
