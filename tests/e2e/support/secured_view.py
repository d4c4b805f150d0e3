"""A view with Kerberos, as a process, and Sparks that log in to it by keytab."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.stack.configuration import hive_site
from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import free_ports, spark_home
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from tests.class_archive import class_path
from tests.e2e.support.secured_metastore import METASTORE
from tests.proxy.kdc import OURS, REALM, Kdc
from tests.secret_files import private

VIEW = f"view/localhost@{REALM}"
WEST, EAST = f"spark-west/localhost@{REALM}", f"spark-east/localhost@{REALM}"

SITE = {
    "hive.metastore.sasl.enabled": "true",
    "hive.metastore.kerberos.principal": VIEW.replace("localhost", "_HOST"),
}


def core_site(principal: str, protection: str) -> dict[str, str]:
    """Hadoop's settings for a Spark with this principal."""
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "hadoop.kerberos.min.seconds.before.relogin": "1",
        "yarn.resourcemanager.principal": principal,  # Hadoop's reader of text files needs it
    }


@contextmanager
def view(
    folder: Path, kdc: Kdc, metastore: Endpoint, *, tokens: bool = False
) -> Iterator[tuple[Endpoint, Path]]:
    """The endpoint of the cluster `west`, and the view's log. `tokens`: it issues tokens."""
    folder.mkdir()
    keys = private(folder / "token-keys", secrets.token_urlsafe(48))
    west, east = (Endpoint("localhost", each.port) for each in free_ports(2))
    (folder / "causeway.toml").write_text(f"""\
[hive]
metastore.uris = "thrift://{metastore}"
metastore.sasl.enabled = true
metastore.kerberos.principal = "{METASTORE.replace("localhost", "_HOST")}"
default.cluster.name = "west"

[hive.cluster.properties]
west = {{FileSystem = "file:{folder}/west", JobTracker = "h:1", MetastoreView = "{west}"}}
east = {{FileSystem = "file:{folder}/east", JobTracker = "h:2", MetastoreView = "{east}"}}

[metastore.login]
principal = "{OURS}"
keytab = "{kdc.keytab(OURS)}"

[view]
authentication = "KERBEROS"
kerberos.principal = "{VIEW}"
kerberos.keytab = "{kdc.keytab(VIEW)}"
callers = ["spark-west/*@{REALM}=west", "spark-east/*@{REALM}=east", "causeway/*@{REALM}=*"]
{f'token.key.file = "{keys}"' if tokens else ""}

[hadoop.proxyuser.spark-west]
hosts = "*"
users = "ann"
""")
    words = [sys.executable, "-m", "cli.main", "metastore", "serve"]
    words += ["--conf", str(folder / "causeway.toml")]
    log = folder / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            for _ in range(2):
                assert process.stdout.readline().startswith("view "), log.read_text()
            yield west, log
        finally:
            process.terminate()


@contextmanager
def spark_sql(
    folder: Path,
    kdc: Kdc,
    metastore: Endpoint,
    principal: str,
    sql: str,
    protection: str,
    proxy_user: str | None = None,
) -> "Iterator[subprocess.Popen[str]]":
    """`spark-sql -e` on its way, which logs in with the principal's keytab, or with its ticket for
    a `proxy_user`. Its guard reports writes to the view, or refuses them."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    site = {
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.metastore.connect.retries": "1",
        "hive.metastore.client.connect.retry.delay": "0",
        "hive.exec.scratchdir": str(folder / "scratch"),
        **SITE,
    }
    core = core_site(principal, protection)
    (conf / "hive-site.xml").write_text(hive_site(site))
    (conf / "core-site.xml").write_text(hive_site(core))
    (conf / "spark-defaults.conf").write_text(
        "spark.master local[1]\nspark.ui.enabled false\nspark.driver.host 127.0.0.1\n"
        f"spark.local.dir {folder}\nspark.sql.catalogImplementation hive\n"
        "spark.sql.extensions causeway.guard.Guard\n"
        "spark.causeway.cluster west\nspark.causeway.default.cluster west\n"
        f"spark.causeway.filesystem.west file:{folder.parent}/view/west\n"
        f"spark.causeway.filesystem.east file:{folder.parent}/view/east\n"
    )
    words = [*jvm(find_java(), "700m", folder), f"-javaagent:{guard_jar()}"]
    words += [f"-Djava.security.krb5.conf={kdc.folder}/krb5.conf"]
    words += ["-cp", class_path(guard_jar(), conf)]
    words += ["org.apache.spark.deploy.SparkSubmit"]
    keytab, ticket = str(kdc.keytab(principal)), f"FILE:{folder}/ticket"
    if proxy_user is None:
        words += ["--principal", principal, "--keytab", keytab]
    else:
        subprocess.run(["kinit", "-c", ticket, "-kt", keytab, principal], check=True)
        words += ["--proxy-user", proxy_user]
    words += [
        "--class",
        "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver",
        "spark-internal",
    ]
    environment = os.environ | {"SPARK_CONF_DIR": str(conf), "SPARK_HOME": str(spark_home())}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "HADOOP_CONF_DIR": str(conf)}
    environment |= {} if proxy_user is None else {"KRB5CCNAME": ticket}
    words += ["-e", sql]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=folder, text=True
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
