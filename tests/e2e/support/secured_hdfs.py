"""HDFS with Kerberos, in a realm of its own that trusts the realm of the tests' KDC."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.stack.configuration import hive_site
from tests.pipeline.spark.minihdfs import running_hdfs
from tests.proxy.kdc import PASSWORD, REALM, Kdc
from tests.proxy.slapd import free_port, program

PARTNER = "PARTNER.ORG"
# By this host name libkrb5 and Java find the realm of a service; no host has it.
NAMENODE, WEB = f"hdfs/nn.partner.org@{PARTNER}", f"HTTP/nn.partner.org@{PARTNER}"
_TRUST = f"krbtgt/{PARTNER}@{REALM}"
_KRB5_CONF = """\
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  .partner.org = {realm}
[capaths]
  {ours} = {{
    {realm} = .
  }}
"""
_KDC_CONF = """\
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    kdc_listen = 127.0.0.1:{port}
    kdc_tcp_listen = 127.0.0.1:{port}
  }}
"""
# Users of another realm have names by rule only: `causeway` of ours is `copies` here, and `hms` is
# the metastore.
_NAMES = r"""
RULE:[2:$1@$0](hdfs@PARTNER\.ORG)s/@.*//
RULE:[2:$1@$0](hms@EXAMPLE\.COM)s/@.*//
RULE:[2:$1@$0](causeway@EXAMPLE\.COM)s/.*/copies/
"""


@dataclass(frozen=True, slots=True)
class SecuredHdfs:
    """`conf` is a folder with Hadoop's settings of a client."""

    uri: str
    conf: Path


@contextmanager
def partner_realm(kdc: Kdc) -> Iterator[Path]:
    """Runs the KDC of the partner's realm and yields a keytab with all its principals."""
    folder, port = kdc.folder / "partner", free_port()
    folder.mkdir()
    with (kdc.folder / "krb5.conf").open("a") as file:
        file.write(_KRB5_CONF.format(realm=PARTNER, port=port, ours=REALM))
    (folder / "kdc.conf").write_text(_KDC_CONF.format(realm=PARTNER, port=port, folder=folder))
    ours = os.environ | kdc.environment
    theirs = ours | {"KRB5_KDC_PROFILE": str(folder / "kdc.conf")}

    def run(words: list[str], environment: dict[str, str]) -> None:
        subprocess.run(words, check=True, capture_output=True, env=environment)

    run([program("kdb5_util"), "create", "-s", "-r", PARTNER, "-P", PASSWORD], theirs)
    keytab, kadmin = folder / "keytab", program("kadmin.local")
    for environment, realm in ((ours, REALM), (theirs, PARTNER)):
        run([kadmin, "-r", realm, "-q", f"addprinc -pw {PASSWORD} {_TRUST}"], environment)
    for principal in (NAMENODE, WEB):
        run([kadmin, "-r", PARTNER, "-q", f"addprinc -randkey {principal}"], theirs)
        run([kadmin, "-r", PARTNER, "-q", f"ktadd -k {keytab} {principal}"], theirs)
    with (folder / "log").open("wb") as log:
        words = [program("krb5kdc"), "-n", "-r", PARTNER]
        process = subprocess.Popen(words, stdout=log, stderr=log, env=theirs)
    try:
        yield keytab
    finally:
        process.terminate()
        process.wait()


@contextmanager
def secured_hdfs(folder: Path, kdc: Kdc) -> Iterator[SecuredHdfs]:
    """HDFS that encrypts calls and data. Only `copies` and the name node itself may write."""
    with partner_realm(kdc) as keytab:
        both = {
            "hadoop.security.authentication": "kerberos",
            "hadoop.rpc.protection": "privacy",
            "dfs.data.transfer.protection": "privacy",
            "dfs.namenode.kerberos.principal": NAMENODE,
        }
        server = both | {
            "hadoop.security.auth_to_local": _NAMES,
            "hadoop.user.group.static.mapping.overrides": "hdfs=;hms=;causeway=;copies=root",
            "hadoop.proxyuser.hms.hosts": "*",
            "hadoop.proxyuser.hms.users": "*",
            "dfs.namenode.keytab.file": str(keytab),
            "dfs.datanode.kerberos.principal": NAMENODE,
            "dfs.datanode.keytab.file": str(keytab),
            "dfs.web.authentication.kerberos.principal": WEB,
            "dfs.web.authentication.kerberos.keytab": str(keytab),
            "dfs.block.access.token.enable": "true",
            "ignore.secure.ports.for.testing": "true",
        }
        # Each call has a connection of its own, which needs a ticket that is alive.
        client = both | {
            "ipc.client.connection.maxidletime": "100",
            "hadoop.kerberos.min.seconds.before.relogin": "1",
        }
        conf = folder / "conf"
        conf.mkdir(parents=True)
        (conf / "core-site.xml").write_text(hive_site(client))
        (folder / "server.xml").write_text(hive_site(server))
        krb5 = f"-Djava.security.krb5.conf={kdc.folder}/krb5.conf"
        with running_hdfs(folder, [folder / "server.xml"], [krb5]) as ports:
            yield SecuredHdfs(f"hdfs://localhost:{ports['port']}", conf)
