"""A real slapd with a few people and groups, in a temporary folder on a port of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.stack.stack import free_ports

BASE = "dc=example,dc=com"
PEOPLE, GROUPS, ADMIN = f"ou=people,{BASE}", f"ou=groups,{BASE}", f"cn=admin,{BASE}"
ADMIN_PASSWORD = "4dmin-secret"
PASSWORDS = {"ann": "4nn-secret", "bob": "b0b-secret", "zed": "z3d-secret", "o(d)*": "0dd-secret"}
_SCHEMAS = ("core", "cosine", "inetorgperson")
_ENTRIES = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: ou=old,{BASE}
objectClass: organizationalUnit
ou: old

dn: uid=zed,ou=old,{BASE}
objectClass: inetOrgPerson
uid: zed
cn: Zed
sn: Zed
userPassword: {PASSWORDS["zed"]}

dn: cn=analysts,{GROUPS}
objectClass: groupOfNames
cn: analysts
member: uid=ann,{PEOPLE}

dn: cn=visitors,{GROUPS}
objectClass: groupOfNames
cn: visitors
member: uid=bob,{PEOPLE}
member: uid=zed,{PEOPLE}
"""
_PERSON = """\

dn: uid={rdn},{people}
objectClass: inetOrgPerson
objectClass: extensibleObject
uid: {name}
cn: {name}
sn: {name}
memberOf: cn={group},{groups}
userPassword: {password}
"""


@dataclass(frozen=True, slots=True)
class Slapd:
    """`port` takes plain text and StartTLS, `secure` TLS; `ca` signed for localhost alone."""

    port: int
    secure: int
    ca: Path

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"


def program(name: str) -> str:
    """The path of a program; skips the test if it is not installed."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/lib/openldap")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    return free_ports(1)[0].port


@contextmanager
def running(folder: Path) -> Iterator[Slapd]:
    """Skips the test where slapd or openssl is not installed."""
    slapd, slapadd = program("slapd"), program("slapadd")
    port, secure = free_port(), free_port()
    conf, entries = folder / "slapd.conf", folder / "entries.ldif"
    ca = certificate(folder, "localhost", "DNS:localhost")
    (folder / "db").mkdir()
    conf.write_text(_conf(folder))
    entries.write_text(_ENTRIES + "".join(_person(name) for name in PASSWORDS if name != "zed"))
    subprocess.run([slapadd, "-f", conf, "-l", entries], check=True, capture_output=True)
    urls = f"ldap://127.0.0.1:{port}/ ldaps://127.0.0.1:{secure}/"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [slapd, "-d", "0", "-h", urls, "-f", conf], stdout=log, stderr=log
        )
    try:
        await_port(port, process)
        await_port(secure, process)
        yield Slapd(port, secure, ca)
    finally:
        process.terminate()
        process.wait()


def certificate(folder: Path, name: str, names: str) -> Path:
    """A certificate of its own authority, `cert.pem`, beside its key, `key.pem`."""
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    words += ["-addext", f"subjectAltName={names}", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([program("openssl"), *words], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem"


def await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(1_200):
        assert process.poll() is None, "it ended"
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("slapd does not listen")


def _person(name: str) -> str:
    rdn = "".join(f"\\{each}" if each in ',+"\\<>;=' else each for each in name)
    group = "analysts" if name == "ann" else "visitors"
    return _PERSON.format(
        rdn=rdn, name=name, people=PEOPLE, groups=GROUPS, group=group, password=PASSWORDS[name]
    )


def _conf(folder: Path) -> str:
    schemas = "\n".join(f"include /etc/ldap/schema/{each}.schema" for each in _SCHEMAS)
    modules = "modulepath /usr/lib/ldap\nmoduleload back_mdb"
    return f"""\
{schemas}
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'memberOf' SUP distinguishedName )
{modules}
TLSCertificateFile {folder}/cert.pem
TLSCertificateKeyFile {folder}/key.pem
database mdb
directory {folder}/db
suffix "{BASE}"
rootdn "{ADMIN}"
rootpw {ADMIN_PASSWORD}
access to attrs=userPassword by anonymous auth by * none
access to * by users read
"""
