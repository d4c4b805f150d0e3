"""The user of a ticket, token or password is current_user() on secured Thrift Servers."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from pyhive import hive
from TCLIService.ttypes import (
    TCancelOperationReq,
    TExecuteStatementReq,
    TGetOperationStatusReq,
    TStatusCode,
)
from thrift.transport.THttpClient import THttpClient

from cli.stack.java import find_java
from cli.stack.stack import Stack, free_ports, spark_home
from conf.topology import Endpoint
from proxy.auth.passwords.password_file import password_line
from tests.e2e.conftest import C1, commands
from tests.e2e.support import secured
from tests.proxy import kdc as kdcs
from tests.proxy.auth.tokens.test_token_keys_client import jwks
from tests.proxy.kdc import REALM, SERVICE, WEB, Kdc
from tests.secret_files import private

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.e2e

ANN = "4nn-secret"
KEY = ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True)
class Door:
    """A proxy that accepts tickets, tokens and passwords, before a cluster of each kind."""

    kdc: Kdc
    binary: int
    http: int
    log: Path
    servers: dict[str, Endpoint]


@pytest.fixture(scope="module")
def door(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("identity")
    with ExitStack() as running:
        (folder / "kdc").mkdir()
        kdc = running.enter_context(kdcs.running(folder / "kdc"))
        metastore = stack.ports.metastore
        starting = {
            "KERBEROS": running.enter_context(
                secured.kerberos_server(folder / "k", kdc, metastore)
            ),
            "PLAIN": running.enter_context(secured.custom_server(folder / "p", metastore)),
        }
        servers = {kind: each.ready() for kind, each in starting.items()}
        servers["NONE"] = stack.ports.hs2[C1]
        binary, http = (each.port for each in free_ports(2))
        settings = _settings(folder, kdc, servers, (binary, http), metastore)
        log = running.enter_context(secured.proxy(folder, settings, kdc.environment))
        yield Door(kdc, binary, http, log, servers)


def _settings(
    folder: Path,
    kdc: Kdc,
    servers: dict[str, Endpoint],
    ports: tuple[int, int],
    metastore: Endpoint,
) -> str:
    private(folder / "passwords", "\n".join(password_line(user, ANN) for user in ("ann", "hue")))
    (folder / "keys").write_text(jwks(k=KEY))
    how = "hive.server2.authentication"
    properties = {
        how: "FILE,KERBEROS,JWT",
        f"{how}.kerberos.principal": SERVICE,
        f"{how}.kerberos.keytab": kdc.keytab(SERVICE),
        f"{how}.spnego.principal": WEB,
        f"{how}.spnego.keytab": kdc.keytab(WEB),
        f"{how}.jwt.jwks.url": folder / "keys",
        "proxy.password.file": folder / "passwords",
        "hadoop.proxyuser.hue.hosts": "127.0.0.1",
        "hadoop.proxyuser.hue.users": "zed",
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.default.cluster.name": "KERBEROS",
        "hive.server2.transport.mode": "all",
    }
    binary, http = ports
    text = f"hive.server2.thrift.port = {binary}\nhive.server2.thrift.http.port = {http}\n"
    text += "".join(f'"{name}" = "{value}"\n' for name, value in properties.items())
    for kind, endpoint in servers.items():
        text += f"[hive.cluster.properties.{kind}]\n"
        text += f'FileSystem = "file:{folder}/{kind}"\nJobTracker = "{endpoint}"\n'
        text += secured.login_of(kind, folder, kdc)
    return text


WHO = "SELECT current_user()"


def who(cursor: Any) -> str:
    cursor.execute(WHO)
    ((user,),) = cursor.fetchall()
    return str(user)


def whos(connection: hive.Connection) -> set[str]:
    """The user in each cluster."""
    cursor, users = connection.cursor(), set()
    for cluster in ("KERBEROS", "PLAIN", "NONE"):
        cursor.execute(f"USE CLUSTER {cluster}")
        users.add(who(cursor))
    return users


def by_password(door: Door, user: str, password: str, **more: str) -> hive.Connection:
    return hive.connect(
        "127.0.0.1",
        door.binary,
        username=user,
        password=password,
        auth="CUSTOM",
        configuration=more,
    )


def beeline(door: Door, user: str, url: str) -> "subprocess.CompletedProcess[str]":
    """Spark's beeline with that user's ticket."""
    java = [str(find_java()), "-Xmx256m", f"-Djava.security.krb5.conf={door.kdc.folder}/krb5.conf"]
    java += ["-Djavax.security.auth.useSubjectCredsOnly=false", "-cp", f"{spark_home() / 'jars'}/*"]
    words = ["org.apache.hive.beeline.BeeLine", "-u", url, "--silent=true", "--showHeader=false"]
    words += ["--outputformat=tsv2", "-e", WHO]
    environment = os.environ | door.kdc.environment | {"KRB5CCNAME": door.kdc.ccache(user)}
    return subprocess.run(
        [*java, *words], capture_output=True, text=True, timeout=120, check=False, env=environment
    )


def test_a_password_is_one_user_in_every_cluster(door: Door) -> None:
    with closing(by_password(door, "ann", ANN)) as connection:
        assert whos(connection) == {"ann"}


def test_a_service_acts_only_for_the_users_that_it_may_impersonate(door: Door) -> None:
    proxy_user = {"hive.server2.proxy.user": "zed"}
    with closing(by_password(door, "hue", ANN, **proxy_user)) as connection:
        assert whos(connection) == {"zed"}
    for user in ("ann", "hue"):
        with pytest.raises(Exception, match="may not act as"):
            by_password(door, user, ANN, **{"hive.server2.proxy.user": "root"})


def test_tickets_of_beeline_over_both_transports(door: Door) -> None:
    url = f"jdbc:hive2://localhost:{door.binary}/default;principal={SERVICE}"
    http = f"jdbc:hive2://localhost:{door.http}/default;principal={SERVICE}"
    for user, words, found in (
        ("hue", url + ";hive.server2.proxy.user=zed", "zed"),
        ("bob", http + ";transportMode=http;httpPath=cliservice", "bob"),
    ):
        done = beeline(door, user, words)
        assert done.stdout.split()[-1:] == [found], done.stderr[-2000:]


def token(**more: Any) -> str:
    claims = {"sub": f"carol@{REALM}", "exp": time.time() + 60} | more
    return jwt.encode(claims, KEY, "ES256", {"kid": "k"})


def by_token(door: Door, bearer: str, path: str = "/cliservice", **more: str) -> hive.Connection:
    transport = THttpClient(f"http://127.0.0.1:{door.http}{path}")
    transport.setCustomHeaders({"Authorization": f"Bearer {bearer}"})
    return hive.connect(thrift_transport=transport, configuration=more)


def test_a_token_over_http(door: Door) -> None:
    with closing(by_token(door, token())) as connection:
        assert whos(connection) == {"carol"}
    for bad in (token(exp=time.time() - 60), token()[:-6], "x"):
        request = Request(f"http://127.0.0.1:{door.http}/cliservice", bytes(144))
        request.add_header("Authorization", f"Bearer {bad}")
        with pytest.raises(HTTPError, match="401"):
            urlopen(request)
    for path, more in (("?doAs=zed", {}), ("", {"hive.server2.proxy.user": "zed"})):
        with pytest.raises(Exception, match="may not act as"):
            by_token(door, token(), f"/cliservice{path}", **more)


def test_a_session_handle_is_valid_for_its_user_over_each_transport(door: Door) -> None:
    with (
        closing(by_password(door, "ann", ANN)) as ann,
        closing(by_token(door, token(sub="ann@elsewhere"))) as also_ann,
        closing(by_token(door, token())) as carol,
        closing(by_password(door, "hue", ANN, **{"hive.server2.proxy.user": "zed"})) as hue,
    ):
        cursor = ann.cursor()
        cursor.execute(WHO)
        handle, session = cursor._operationHandle, ann._sessionHandle
        for other in (carol, hue):
            calls = other.client
            status = calls.GetOperationStatus(TGetOperationStatusReq(handle)).status
            assert "Invalid OperationHandle" in status.errorMessage
            status = calls.CancelOperation(TCancelOperationReq(handle)).status
            assert "Invalid OperationHandle" in status.errorMessage
            status = calls.ExecuteStatement(TExecuteStatementReq(session, WHO)).status
            assert "Invalid SessionHandle" in status.errorMessage
        status = also_ann.client.ExecuteStatement(TExecuteStatementReq(session, WHO)).status
        assert status.statusCode == TStatusCode.SUCCESS_STATUS
        assert cursor.fetchall() == [("ann",)]


def test_clients_without_credentials_are_refused_and_no_secret_is_shown(door: Door) -> None:
    for user, password in (("ann", "x"), ("ann", ANN + "x"), ("nobody", ANN), ("hive", "x")):
        with pytest.raises(Exception, match="Error validating the login"):
            by_password(door, user, password)
    bearer = token()
    with closing(by_token(door, bearer)), closing(by_password(door, "ann", ANN)):
        listed = commands()
    assert any("causeway.toml" in each for each in listed)
    seen = "\n".join([*listed, door.log.read_text()])
    assert "wrong password or unknown user" in seen
    for secret in (ANN, secured.PASSWORD, bearer, bearer.rpartition(".")[2]):
        assert secret not in seen
