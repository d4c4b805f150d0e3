"""A realm with a view and a Spark of each cluster, and clients that log in to the view."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conf.secrets import SecretFile
from conf.settings.security.authentication import KerberosService, Qop
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_access import CallerRule, ViewAccess
from conf.topology import Endpoint
from metastore.client.connecting import connect
from metastore.client.metastore_client import HmsClient
from tests.proxy import kdc as kdcs
from tests.proxy.kdc import REALM, Kdc
from thriftcodec.values import Struct

VIEW = f"view/localhost@{REALM}"
WEST, EAST = f"spark-west/localhost@{REALM}", f"spark-east/localhost@{REALM}"


@contextmanager
def realm_in(folder: Path) -> Iterator[Kdc]:
    """A KDC that this process asks."""
    with (
        kdcs.running(folder, services=(VIEW, WEST, EAST)) as running,
        pytest.MonkeyPatch.context() as to,
    ):
        for name, value in running.environment.items():
            to.setenv(name, value)
        yield running


def access(realm: Kdc, qop: Qop = Qop.AUTH) -> ViewAccess:
    callers = (
        CallerRule(f"spark-west/*@{REALM}", "c1"),
        CallerRule(f"spark-east/*@{REALM}", "c2"),
        CallerRule(f"causeway/*@{REALM}", "*"),
    )
    return ViewAccess(KerberosService(VIEW, SecretFile(realm.keytab(VIEW))), qop, callers)


def login(realm: Kdc, principal: str) -> MetastoreLogin:
    server = VIEW.replace("localhost", "_HOST")
    return MetastoreLogin(True, server, principal, SecretFile(realm.keytab(principal)))


def client(realm: Kdc, endpoint: Endpoint, principal: str) -> HmsClient:
    return HmsClient((endpoint,), 20.0, login=login(realm, principal))


def call(
    realm: Kdc, where: Endpoint, caller: str | MetastoreLogin, method: str, fields: dict[int, Any]
) -> Any:
    """`caller`: a principal, which logs in with its keytab, or another log-in."""
    own = login(realm, caller) if isinstance(caller, str) else caller
    connection = connect(where, 20.0, own)
    try:
        return connection.call(method, Struct(fields), {1: "MetaException"}, 20.0)
    finally:
        connection.close()
