"""Makes an archive of the classes that a Spark of the tests loads, which Java maps at its start
instead of reading and checking each of them: a Thrift Server starts with a third less of the
processor. `make test` calls it before its lanes; without the archive everything runs as well.

    python -m tests.class_archive build/spark.jsa

Java takes classes from an archive only where its class path begins as that of the archive did, so
Spark's jars come first (cli/stack/plan.py), and ignores the archive of another Java."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from cli.stack import plan
from cli.stack.java import find_java
from cli.stack.stack import spark_home
from pipeline.spark.jar import guard_jar_or_none

# What loads classes: a Hive metastore of its own, with its database; a table that is written, read
# and altered.
_STATEMENTS = """
CREATE TABLE t (a INT, b STRING) USING parquet PARTITIONED BY (day STRING);
INSERT INTO t VALUES (1, 'x', '2026-01-01'), (2, 'y', '2026-01-02');
SELECT day, count(*), max(a) FROM t WHERE day > '2026-01-01' GROUP BY day ORDER BY day;
SELECT x.a FROM t AS x JOIN t AS y ON x.a = y.a WHERE x.b LIKE 'x%';
ALTER TABLE t SET TBLPROPERTIES ('p' = 'v');
SHOW TABLES;
DESCRIBE EXTENDED t;
CREATE TABLE text (a INT) STORED AS TEXTFILE;
INSERT OVERWRITE TABLE text SELECT a FROM t;
SELECT sum(a) FROM text;
"""


_LOAD = Path(__file__).with_name("LoadClasses.java")
_RELEASED = re.compile(r"META-INF/versions/\d+/(.+)\.class$")


def class_path(*others: object) -> str:
    """Spark's jars and the others, in the order in which Java takes classes from the archive."""
    return plan.class_path(spark_home(), *others)


def _make(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        java = [*plan.jvm(find_java(), "1g", Path(folder)), "-XX:TieredStopAtLevel=1"]
        names = Path(folder) / "names"
        _run([*java, f"-XX:DumpLoadedClassList={names}", *_spark_sql()], folder)
        _leave_out(names, _of_certain_releases(spark_home() / "jars"))
        made = archive.with_suffix(".new").absolute()
        words = [f"-XX:SharedClassListFile={names}", f"-XX:SharedArchiveFile={made}"]
        _run([*java, "-Xshare:dump", *words, "-cp", class_path()], folder)
        if guard := guard_jar_or_none():  # an archive that crashes a guarded Java is not kept
            words = [f"-javaagent:{guard}", f"-XX:SharedArchiveFile={made}", "-cp", class_path()]
            _run([*java, *words, str(_LOAD), str(names)], folder)
        made.rename(archive)


def _spark_sql() -> list[str]:
    words = ["-cp", class_path(), "org.apache.spark.deploy.SparkSubmit", "--master", "local[1]"]
    words += ["--conf", "spark.ui.enabled=false"]
    words += ["--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"]
    return [*words, "spark-internal", "-e", _STATEMENTS]


def _run(words: list[str], folder: str) -> None:
    # Not the options of the tests: they name the archive.
    environment = {k: v for k, v in os.environ.items() if k != "JDK_JAVA_OPTIONS"}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)


def _of_certain_releases(jars: Path) -> set[str]:
    """The classes that a jar has for certain releases of Java."""
    found = set()
    for jar in jars.glob("*.jar"):
        with ZipFile(jar) as opened:
            found |= set(map(_RELEASED.match, opened.namelist()))
    return {match.group(1) for match in found if match}


def _leave_out(names: Path, classes: set[str]) -> None:
    """With an agent Java 17 reads the bytes of each archived class from where it looks first, and
    crashes if they are not there: these classes, and those that Java itself generates. Lines are
    `CLASS ..`, `@lambda-proxy CLASS ..` or `@lambda-form-invoker ..`."""
    kept = []
    for line in names.read_text().splitlines(keepends=True):
        words = line.split()
        generated = words[0] == "@lambda-form-invoker" or "$Species_" in line
        if not generated and not classes & set(words[:2]):
            kept.append(line)
    names.write_text("".join(kept))


if __name__ == "__main__":
    try:
        _make(Path(sys.argv[1]))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no archive of classes ({error}): each Java of the tests reads them from the jars")
