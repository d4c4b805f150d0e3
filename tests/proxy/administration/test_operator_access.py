"""The port for operators, over TLS and by role, through the clients that Causeway has for it."""

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.errors import AdminRefused, NoAdmin
from cli.server import admin
from conf.errors import BadCertificate, BadSettings
from conf.roles import Role
from conf.topology import Endpoint
from console.errors import SourceDown
from console.sources.http_client import Api
from console.sources.http_client import call as console_call
from proxy.administration import admin_server
from proxy.operations.audit.audit_events import ApiCaller
from proxy.operations.observer import administration
from tests.conf.settings.reading import settings_from
from tests.proxy.administration.operator_port import client_of, serving, values_of
from tests.proxy.certificates import made

VIEWER, OPERATOR, ADMINISTRATOR = Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/v1/sessions", VIEWER),
        ("GET", "/v1/explain?sql=SELECT+1", VIEWER),
        ("POST", "/v1/statements/1/kill", OPERATOR),
        ("POST", "/v1/sessions/1/kill", OPERATOR),
        ("POST", "/v1/clusters/east/drain", ADMINISTRATOR),
        ("POST", "/v1/endpoints/h%3A1/resume", ADMINISTRATOR),
        ("POST", "/v1/users/ann/block", ADMINISTRATOR),
        ("POST", "/v1/maintenance/now/begin", ADMINISTRATOR),
        ("POST", "/v1/reload", ADMINISTRATOR),
    ],
)
def test_a_request_needs_a_role(method: str, path: str, needed: Role, tmp_path: Path) -> None:
    values = values_of(tmp_path)
    names = {VIEWER: "grafana", OPERATOR: "ann", ADMINISTRATOR: "root"}
    with serving(values) as (endpoint, observed):
        for role, name in names.items():
            client = client_of(values, endpoint, role)
            if role >= needed:
                assert admin.call(client, method, path)["done"]
            else:
                with pytest.raises(AdminRefused, match=f"needs the role {needed.title}"):
                    admin.call(client, method, path)
            expected = (method, path.partition("?")[0], ApiCaller("127.0.0.1", name, role))
            assert observed[-1] == (*expected, role < needed)


def test_the_audit_log_names_the_caller() -> None:
    line = administration("POST", "/v1/reload", ApiCaller("10.0.0.1", "ann", OPERATOR), True).line()
    shown = {key: line[key] for key in ("by", "address", "role", "accepted")}
    assert shown == {"by": "ann", "address": "10.0.0.1", "role": "operator", "accepted": False}
    line = administration("GET", "/v1/cache", ApiCaller("10.0.0.1"), True).line()
    assert (line["by"], "role" in line) == ("10.0.0.1", False)


def test_clients_use_tls_and_check_the_certificate(tmp_path: Path) -> None:
    ours, other = made(), made()
    values = values_of(tmp_path, ours)
    trusted, foreign = ours.pem(tmp_path / "ca.pem"), other.pem(tmp_path / "other.pem")
    with serving(values) as (endpoint, observed):
        client = client_of(values, endpoint, VIEWER, proxy_admin_ca_file=str(trusted))
        assert admin.call(client, "GET", "/v1/cache") == {"done": "cache"}
        api = Api("the proxy", endpoint, client.access, client.admin_token)
        assert console_call(api, "GET", "/v1/cache") == {"done": "cache"}
        assert [each[2].name for each in observed] == ["grafana", "grafana"]
        for ca in ({}, {"proxy_admin_ca_file": str(foreign)}):
            client = client_of(values, endpoint, VIEWER, **ca)
            with pytest.raises(NoAdmin, match="CERTIFICATE_VERIFY_FAILED"):
                admin.call(client, "GET", "/v1/cache")
            api = Api("the proxy", endpoint, client.access, client.admin_token)
            with pytest.raises(SourceDown, match="CERTIFICATE_VERIFY_FAILED"):
                console_call(api, "GET", "/v1/cache")
        assert len(observed) == 2


def test_the_name_in_the_certificate_is_checked(tmp_path: Path) -> None:
    ours = made()  # for 127.0.0.1 and localhost
    values = values_of(tmp_path, ours)
    trusted = str(ours.pem(tmp_path / "ca.pem"))
    with serving(values, "0.0.0.0") as (endpoint, _):
        named = Endpoint("localhost", endpoint.port)
        client = client_of(values, named, VIEWER, proxy_admin_ca_file=trusted)
        assert admin.call(client, "GET", "/v1/cache")
        other = Endpoint("127.0.0.2", endpoint.port)
        client = client_of(values, other, VIEWER, proxy_admin_ca_file=trusted)
        with pytest.raises(NoAdmin, match="mismatch"):
            admin.call(client, "GET", "/v1/cache")


def test_plain_text_is_not_answered_where_tls_is_on(tmp_path: Path) -> None:
    values = values_of(tmp_path, made())
    with serving(values) as (endpoint, observed):
        plain = client_of({**values, "proxy.admin.use.SSL": "false"}, endpoint, ADMINISTRATOR)
        with pytest.raises(NoAdmin):
            admin.call(plain, "GET", "/v1/cache")
        assert observed == []


def test_a_port_with_tls_and_no_certificate_does_not_listen(tmp_path: Path) -> None:
    values = {**values_of(tmp_path), "proxy.admin.use.SSL": "true"}
    with pytest.raises(BadCertificate, match=r"proxy\.admin\.keystore\.path"), serving(values):
        pass


def test_a_new_certificate_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_server, "_REFRESH", 0.01)
    first, second = made(), made()
    values = values_of(tmp_path, first)
    with serving(values) as (endpoint, _):
        trusted = str(second.pem(tmp_path / "ca.pem"))
        client = client_of(values, endpoint, VIEWER, proxy_admin_ca_file=trusted)
        with pytest.raises(NoAdmin):
            admin.call(client, "GET", "/v1/cache")
        second.pem(tmp_path / "keystore.pem")
        assert _until_it_answers(lambda: admin.call(client, "GET", "/v1/cache"))


def _until_it_answers(call: Callable[[], Any]) -> Any:
    for _ in range(200):
        try:
            return call()
        except NoAdmin:
            threading.Event().wait(0.05)
    return None


def test_exposed_token_files_are_wrong_settings(tmp_path: Path) -> None:
    values = values_of(tmp_path)
    (tmp_path / "viewer").chmod(0o644)
    with pytest.raises(BadSettings, match="chmod 600"):
        settings_from(values, "test")


def test_old_versions_of_tls_are_refused(tmp_path: Path) -> None:
    ours = made()
    values = {**values_of(tmp_path, ours), "proxy.tls.oldest": "TLSv1.3"}
    with serving(values) as (endpoint, _):
        address = (endpoint.host, endpoint.port)
        with (
            socket.create_connection(address) as plain,
            ours.trusting().wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            assert secure.version() == "TLSv1.3"
        old = ours.trusting(ssl.TLSVersion.TLSv1_2)
        with socket.create_connection(address) as plain, pytest.raises(ssl.SSLError):
            old.wrap_socket(plain, server_hostname="127.0.0.1")
