"""A real KDC (MIT) of the realm EXAMPLE.COM, in a temporary folder on a port of its own."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.proxy.slapd import free_port, program

REALM = "EXAMPLE.COM"
SERVICE, WEB = f"hive/localhost@{REALM}", f"HTTP/localhost@{REALM}"
SERVERS, OURS = f"spark/localhost@{REALM}", f"causeway/localhost@{REALM}"
USERS = ("ann", "bob", "hue", "admin/ops")
PASSWORD = "k3rberos-secret"


@dataclass(frozen=True, slots=True)
class Kdc:
    """A KDC with a keytab for each principal."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for programs that use only this realm."""
        return {
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{self.folder}/nobodys.ccache",
            "KRB5RCACHETYPE": "none",
        }

    def keytab(self, principal: str) -> Path:
        return self.folder / f"{principal.split('@')[0].replace('/', '_')}.keytab"

    def ccache(self, user: str) -> str:
        """A cache with a new ticket of the user."""
        where = f"FILE:{self.folder}/{user.replace('/', '_')}.ccache"
        words = [program("kinit"), "-c", where, "-k", "-t", str(self.keytab(user)), user]
        subprocess.run(words, check=True, capture_output=True, env=os.environ | self.environment)
        return where

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Runs the KDC while the block runs."""
        words = [program("krb5kdc"), "-n"]
        with (self.folder / "log").open("ab") as log:
            environment = os.environ | self.environment
            process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)
        try:
            _await(self, process)
            yield
        finally:
            process.terminate()
            process.wait()


@contextmanager
def running(folder: Path, life: str = "1h", services: tuple[str, ...] = ()) -> Iterator[Kdc]:
    """A running KDC; see `prepared`."""
    kdc = prepared(folder, life, services)
    with kdc.answering():
        yield kdc


def prepared(folder: Path, life: str = "1h", services: tuple[str, ...] = ()) -> Kdc:
    """A KDC that does not run yet. `life` is the longest of a ticket; `services` are further
    principals. Skips the test where the programs of MIT's KDC are not installed."""
    kdb5_util, kadmin = program("kdb5_util"), program("kadmin.local")
    for needed in ("kinit", "krb5kdc"):
        program(needed)
    port = free_port()
    kdc = Kdc(folder)
    (folder / "krb5.conf").write_text(_KRB5_CONF.format(realm=REALM, port=port, folder=folder))
    configuration = _KDC_CONF.format(realm=REALM, port=port, folder=folder, life=life)
    (folder / "kdc.conf").write_text(configuration)
    environment = os.environ | kdc.environment

    def run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, env=environment)

    run(kdb5_util, "create", "-s", "-r", REALM, "-P", PASSWORD)
    commands = []
    for principal in (SERVICE, WEB, SERVERS, OURS, *USERS, *services):
        commands += [
            f"addprinc -randkey {principal}",
            f"ktadd -k {kdc.keytab(principal)} {principal}",
        ]
    subprocess.run(
        [kadmin, "-r", REALM],
        input="\n".join(commands).encode(),
        check=True,
        capture_output=True,
        env=environment,
    )
    return kdc


def _await(kdc: Kdc, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1_000):
        assert process.poll() is None, (kdc.folder / "log").read_text()
        try:
            kdc.ccache("ann")
        except subprocess.CalledProcessError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the KDC does not answer")


_KRB5_CONF = """\
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  localhost = {realm}
[logging]
  kdc = FILE:{folder}/kdc.log
"""
_KDC_CONF = """\
[kdcdefaults]
  kdc_listen = 127.0.0.1:{port}
  kdc_tcp_listen = 127.0.0.1:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
    max_life = {life}
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""
