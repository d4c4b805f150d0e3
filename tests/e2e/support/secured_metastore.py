"""Hive's metastore behind SASL, from Spark's jars."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cli.stack.configuration import CONNECTION_POOL, hive_site
from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import free_ports, spark_home
from conf.topology import Endpoint
from tests.proxy.kdc import REALM, Kdc

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
logger.audit.name = org.apache.hadoop.hive.metastore.HiveMetaStore.audit
logger.audit.level = info
"""  # the audit log has a line for each call, with its user
METASTORE = f"hms/localhost@{REALM}"


@contextmanager
def metastore(
    folder: Path,
    kdc: Kdc | None,
    protection: str = "authentication",
    more: Mapping[str, str] | None = None,
) -> Iterator[Endpoint]:
    """Runs a metastore, without a `kdc` without SASL. `protection` is hadoop.rpc.protection. The
    principal `causeway` may act for others. The metastore's log is `folder/log`."""
    endpoint = Endpoint("localhost", free_ports(1)[0].port)
    conf = folder / "conf"
    conf.mkdir(parents=True)
    site = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file:{folder}/warehouse",
        "hive.async.log.enabled": "false",
        "hive.cluster.delegation.token.store.class": (
            "org.apache.hadoop.hive.thrift.MemoryTokenStore"
        ),
        **CONNECTION_POOL,
    }
    options: list[str] = []
    core: dict[str, str] = {}
    if kdc is not None:
        options = [f"-Djava.security.krb5.conf={kdc.folder}/krb5.conf"]
        site |= {
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": METASTORE,
            "hive.metastore.kerberos.keytab.file": str(kdc.keytab(METASTORE)),
        }
        core = _core(protection)
    (conf / "hive-site.xml").write_text(hive_site(site | dict(more or {})))
    (conf / "core-site.xml").write_text(hive_site(core))
    (conf / "hive-log4j2.properties").write_text(_LOG4J)
    words = [*jvm(find_java(), "512m", folder), *options]
    words += ["-cp", os.pathsep.join([str(conf), f"{spark_home() / 'jars'}/*"])]
    words += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(endpoint.port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=folder)
    try:
        _await(endpoint, process, folder / "log")
        yield endpoint
    finally:
        process.kill()
        process.wait()


def _await(endpoint: Endpoint, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()[-3000:]
        with socket.socket() as trying:
            if trying.connect_ex((endpoint.host, endpoint.port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])


def _core(protection: str) -> dict[str, str]:
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        # By default a minute, in which it would call HDFS with an expired ticket of some seconds.
        "hadoop.kerberos.min.seconds.before.relogin": "1",
        "hadoop.proxyuser.causeway.hosts": "*",
        "hadoop.proxyuser.causeway.groups": "*",
        "hadoop.proxyuser.causeway.users": "*",
    }
