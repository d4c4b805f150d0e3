"""Thrift Servers that require a log-in: by Kerberos, and by a Java class (CUSTOM)."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from cli.stack.configuration import hive_site
from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import free_ports, spark_home
from conf.topology import Endpoint
from tests.class_archive import class_path
from tests.proxy.certificates import made
from tests.proxy.kdc import OURS, SERVERS, Kdc
from tests.secret_files import private

PASSWORD = "s3rvice-secret"
_AUTHENTICATOR = f"""\
import javax.security.sasl.AuthenticationException;
import org.apache.hive.service.auth.PasswdAuthenticationProvider;

public class Doorman implements PasswdAuthenticationProvider {{
  public void Authenticate(String user, String password) throws AuthenticationException {{
    if (!user.equals("causeway") || !password.equals("{PASSWORD}")) {{
      throw new AuthenticationException("not one of ours");
    }}
  }}
}}
"""
_COMPILE = """\
import java.nio.file.*;
import org.codehaus.janino.SimpleCompiler;

public class Compile {
  public static void main(String[] words) throws Exception {
    SimpleCompiler compiler = new SimpleCompiler();
    compiler.cookFile(words[0] + ".java");
    byte[] compiled = (byte[]) compiler.getBytecodes().get("Doorman");
    Files.write(Paths.get(words[0] + ".class"), compiled, new OpenOption[0]);
  }
}
"""


@dataclass(frozen=True, slots=True)
class Starting:
    """A Thrift Server that is starting."""

    endpoint: Endpoint
    process: "subprocess.Popen[bytes]"
    log: Path

    def ready(self) -> Endpoint:
        """Waits until the server listens, and returns its endpoint."""
        for _ in range(600):
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            with socket.socket() as trying:
                if trying.connect_ex((self.endpoint.host, self.endpoint.port)) == 0:
                    return self.endpoint
            time.sleep(0.2)
        raise AssertionError(self.log.read_text()[-3000:])


_ALLOWED = {
    "hadoop.proxyuser.causeway.hosts": "*",
    "hadoop.proxyuser.causeway.groups": "*",
}
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""


def need_java_with_kerberos() -> None:
    """Skips the test where Java has no Kerberos."""
    words = [str(find_java()), "--list-modules"]
    if "jdk.security.jgss" not in subprocess.run(words, capture_output=True, text=True).stdout:
        pytest.skip("Kerberos: this Java is without jdk.security.jgss")


@contextmanager
def kerberos_server(
    folder: Path, kdc: Kdc, metastore: Endpoint, qop: str = "auth"
) -> Iterator[Starting]:
    site = {
        "hive.server2.authentication": "KERBEROS",
        "hive.server2.authentication.kerberos.principal": SERVERS,
        "hive.server2.authentication.kerberos.keytab": str(kdc.keytab(SERVERS)),
        "hive.server2.thrift.sasl.qop": qop,
    }
    need_java_with_kerberos()
    core = {"hadoop.security.authentication": "kerberos", **_ALLOWED}
    options = [f"-Djava.security.krb5.conf={kdc.folder}/krb5.conf"]
    with _running(folder, metastore, site, core, options, ()) as starting:
        yield starting


@contextmanager
def custom_server(folder: Path, metastore: Endpoint) -> Iterator[Starting]:
    """Accepts `causeway` with PASSWORD, over TLS. `folder` has the certificate, `ca.pem`."""
    folder.mkdir()
    certificate = made()
    certificate.p12(folder / "keystore", PASSWORD)
    ca = certificate.certificate.public_bytes(Encoding.PEM)
    (folder / "ca.pem").write_bytes(ca)
    (folder / "Doorman.java").write_text(_AUTHENTICATOR)
    (folder / "Compile.java").write_text(_COMPILE)
    # By Janino, one of Spark's jars: not every Java has a compiler.
    words = [str(find_java()), "-cp", f"{spark_home() / 'jars'}/*"]
    words += ["org.codehaus.janino.SimpleCompiler", str(folder / "Compile.java"), "Compile"]
    subprocess.run([*words, str(folder / "Doorman")], check=True, capture_output=True)
    site = {
        "hive.server2.authentication": "CUSTOM",
        "hive.server2.custom.authentication.class": "Doorman",
        "hive.server2.use.SSL": "true",
        "hive.server2.keystore.path": str(folder / "keystore"),
        "hive.server2.keystore.password": PASSWORD,
    }
    with _running(folder, metastore, site, _ALLOWED, [], (str(folder),)) as starting:
        yield starting


@contextmanager
def _running(
    folder: Path,
    metastore: Endpoint,
    site: Mapping[str, str],
    core: Mapping[str, str],
    options: list[str],
    classes: tuple[str, ...],
) -> Iterator[Starting]:
    endpoint = Endpoint("localhost", free_ports(1)[0].port)
    conf, scratch = folder / "conf", folder / "scratch"
    conf.mkdir(parents=True)
    scratch.mkdir()
    site = {
        **site,
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(endpoint.port),
        "hive.exec.scratchdir": str(scratch / "hive"),
        "hive.exec.local.scratchdir": str(scratch / "hive-local"),
        "hive.server2.logging.operation.log.location": str(scratch / "operations"),
    }
    (conf / "hive-site.xml").write_text(hive_site(site))
    (conf / "core-site.xml").write_text(hive_site(core))
    (conf / "log4j2.properties").write_text(_LOG4J)
    (conf / "spark-defaults.conf").write_text(
        "spark.master local[1]\nspark.ui.enabled false\nspark.driver.host 127.0.0.1\n"
        f"spark.local.dir {scratch}\nspark.sql.warehouse.dir {folder}/warehouse\n"
        "spark.sql.catalogImplementation hive\n"
    )
    words = [*jvm(find_java(), "700m", scratch), *options, "-cp", class_path(*classes, conf)]
    words += ["org.apache.spark.deploy.SparkSubmit", "--class"]
    words += ["org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"]
    environment = os.environ | {"SPARK_CONF_DIR": str(conf), "SPARK_HOME": str(spark_home())}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "HADOOP_CONF_DIR": str(conf)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environment, cwd=scratch)
    try:
        yield Starting(endpoint, process, folder / "log")
    finally:
        process.kill()
        process.wait()


@contextmanager
def proxy(folder: Path, settings: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Runs `causeway serve` with these settings and yields the path of its log."""
    (folder / "causeway.toml").write_text(settings)
    words = [sys.executable, "-m", "cli.main", "serve", "--conf", str(folder / "causeway.toml")]
    log = folder / "causeway.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | environment
        ) as process,
    ):
        try:
            assert process.stdout is not None
            for _ in range(settings.count("port =")):
                assert process.stdout.readline().startswith("listening "), log.read_text()
            yield log
        finally:
            process.terminate()


def login_of(kind: str, folder: Path, kdc: Kdc) -> str:
    """The log-in keys of a cluster of this kind; empty if it requires none."""
    if kind == "NONE":
        return ""
    if kind in ("KERBEROS", "SEALED"):
        return (
            f'Authentication = "KERBEROS"\nUser = "{OURS}"\nKeytab = "{kdc.keytab(OURS)}"\n'
            'Principal = "spark/_HOST@EXAMPLE.COM"\n'
        )
    private(folder / "password", PASSWORD)
    return (
        f'Authentication = "PLAIN"\nUser = "causeway"\nPasswordFile = "{folder}/password"\n'
        f'Tls = "true"\nCaFile = "{folder}/p/ca.pem"\n'
    )
