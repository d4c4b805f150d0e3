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

from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import spark_home

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


def _make(archive: Path) -> None:
    jars = f"{spark_home() / 'jars'}/*"
    with tempfile.TemporaryDirectory() as folder:
        java = jvm(find_java(), "1g", Path(folder))
        names = Path(folder) / "names"
        _run([*java, f"-XX:DumpLoadedClassList={names}", *_spark_sql(jars)], folder)
        _leave_out(names, _classes_of_releases(spark_home() / "jars"))
        made = archive.with_suffix(".new")
        words = [f"-XX:SharedClassListFile={names}", f"-XX:SharedArchiveFile={made.absolute()}"]
        _run([*java, "-Xshare:dump", *words, "-cp", jars], folder)
        made.rename(archive)


def _spark_sql(jars: str) -> list[str]:
    words = ["-cp", jars, "org.apache.spark.deploy.SparkSubmit", "--master", "local[1]"]
    words += ["--conf", "spark.ui.enabled=false"]
    words += ["--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"]
    return [*words, "spark-internal", "-e", _STATEMENTS]


def _run(words: list[str], folder: str) -> None:
    # Not the options of the tests: they name the archive.
    environment = {k: v for k, v in os.environ.items() if k != "JDK_JAVA_OPTIONS"}
    environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)


def _classes_of_releases(jars: Path) -> set[str]:
    """Those that a jar has for certain releases of Java. With an agent, Java 17 looks for them in
    the wrong place of the jar, and crashes."""
    found = set()
    for jar in jars.glob("*.jar"):
        with ZipFile(jar) as opened:
            matches = map(
                re.compile(r"META-INF/versions/\d+/(.+)\.class").fullmatch, opened.namelist()
            )
            found |= {match.group(1) for match in matches if match}
    return found


def _leave_out(names: Path, classes: set[str]) -> None:
    """Lines are `CLASS ..`, or `@lambda-proxy CLASS ..`."""
    lines = names.read_text().splitlines(keepends=True)
    names.write_text("".join(line for line in lines if not classes & set(line.split()[:2])))


if __name__ == "__main__":
    try:
        _make(Path(sys.argv[1]))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no archive of classes ({error}): each Java of the tests reads them from the jars")
