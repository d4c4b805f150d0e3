"""Settings of authentication: HiveServer2's names, and errors at the start."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.settings.load import load
from conf.settings.security.authentication import Auth, ProxyRule, Qop, is_rule
from tests.conf.settings.reading import settings_from
from tests.secret_files import private

H, L = "hive.server2.authentication", "hive.server2.authentication.ldap."
LDAP = {H: "LDAP", f"{L}url": "ldaps://a ldap://b:3389", f"{L}baseDN": "dc=x"}


def test_ldap_has_hiveserver2s_names() -> None:
    values = {f"{L}userFilter": "Ann, bob", f"{L}groupFilter": "Staff", f"{L}binddn": "cn=me"}
    values |= {f"{L}userDNPattern": "uid=%s,ou=a,dc=x:uid=%s,ou=b,dc=x", f"{L}bindpw": "s3cret"}
    identity = settings_from(LDAP | values, "x").identity
    ldap = identity.ldap
    assert identity.methods == {Auth.LDAP}
    assert ldap is not None
    assert ldap.urls == ("ldaps://a", "ldap://b:3389")
    assert ldap.user_patterns == ("uid=%s,ou=a,dc=x", "uid=%s,ou=b,dc=x")
    assert ldap.group_patterns == ("uid=%s,dc=x",)
    assert (ldap.users, ldap.groups) == ({"ann", "bob"}, {"staff"})
    assert ldap.bind_password == "s3cret"
    assert "s3cret" not in repr(identity)


def test_the_password_of_the_bind_dn_may_be_in_a_file(tmp_path: Path) -> None:
    file = {"proxy.ldap.bindpw.file": str(private(tmp_path / "pw", "s3cret"))}
    ldap = settings_from(LDAP | file | {f"{L}binddn": "cn=me"}, "x").identity.ldap
    assert ldap is not None
    assert str(ldap.bind_password_file) == file["proxy.ldap.bindpw.file"]
    with pytest.raises(BadSetting, match="go together"):
        settings_from(LDAP | file, "x")
    with pytest.raises(BadSetting, match="bindpw is set, too"):
        settings_from(LDAP | file | {f"{L}binddn": "cn=me", f"{L}bindpw": "s3cret"}, "x")


def test_kerberos_jwt_and_files(tmp_path: Path) -> None:
    private(tmp_path / "k", "")
    values = {H: "kerberos, JWT ,file", "proxy.password.file": str(tmp_path / "k")}
    values |= {
        f"{H}.kerberos.principal": "hive/_HOST@R",
        f"{H}.kerberos.keytab": str(tmp_path / "k"),
    }
    values |= {f"{H}.jwt.jwks.url": "https://i/keys", "proxy.jwt.algorithms": "RS256,ES256"}
    identity = settings_from(values, "x").identity
    assert identity.methods == {Auth.KERBEROS, Auth.JWT, Auth.FILE}
    assert identity.kerberos is not None
    assert identity.kerberos.realm == "R"
    assert identity.jwt is not None
    assert identity.jwt.algorithms == ("RS256", "ES256")


def test_sasl_qop(tmp_path: Path) -> None:
    qop = "hive.server2.thrift.sasl.qop"
    private(tmp_path / "k", "")
    values = {H: "KERBEROS", f"{H}.kerberos.principal": "hive/_HOST@R"}
    values[f"{H}.kerberos.keytab"] = str(tmp_path / "k")
    assert settings_from(values, "x").identity.qop is Qop.AUTH
    assert settings_from({**values, qop: "auth-conf"}, "x").identity.qop is Qop.AUTH_CONF
    with pytest.raises(BadSetting, match="auth-int needs KERBEROS"):
        settings_from({H: "NONE", qop: "auth-int"}, "x")
    with pytest.raises(BadSetting):
        settings_from({**values, qop: "auth-privacy"}, "x")


def test_impersonation_rules_in_toml(tmp_path: Path) -> None:
    toml = tmp_path / "c.toml"
    toml.write_text(
        '[hadoop.proxyuser.hue]\nhosts = ["a", "10.0.0.0/8"]\ngroups = "*"\n'
        '[hadoop.proxyuser."a.b"]\nusers = "zed"\n'
    )
    rules = load(toml).identity.rules
    assert rules["hue"] == ProxyRule(frozenset({"a", "10.0.0.0/8"}), frozenset("*"))
    assert rules["a.b"] == ProxyRule(users=frozenset({"zed"}))
    toml.write_text('hadoop.proxyuser.hue.host = "*"\n')
    with pytest.raises(BadSetting, match="no such setting"):
        load(toml)
    assert not is_rule("hadoop.proxyuser.hosts")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({H: "PAM"}, "PAM is not offered"),
        ({H: "LDAP,FILE"}, "one way"),
        ({H: "NOSASL,KERBEROS"}, "combined with another"),
        ({H: "OAUTH"}, "is not one of"),
        ({H: "LDAP"}, "ldap.url: missing"),
        ({H: "LDAP", f"{L}url": "http://x"}, "not ldap"),
        (LDAP | {f"{L}binddn": "cn=x"}, "go together"),
        (LDAP | {f"{L}userDNPattern": "%s@x"}, "not a DN"),
        (LDAP | {f"{L}groupMembershipKey": "a)(b"}, "attribute"),
        (LDAP | {f"{L}guidKey": "a=b"}, "attribute"),
        (LDAP | {"proxy.ldap.ca.file": "/no/such"}, "no such file"),
        ({H: "KERBEROS"}, "principal: missing"),
        ({H: "KERBEROS", f"{H}.kerberos.principal": "hive"}, "not name/host@REALM"),
        ({H: "KERBEROS", f"{H}.kerberos.principal": "a/b@R"}, "keytab: missing"),
        ({H: "JWT"}, "jwks.url: missing"),
        ({H: "JWT", f"{H}.jwt.jwks.url": "http://x/keys"}, "https"),
        ({H: "JWT", f"{H}.jwt.jwks.url": "/k", "proxy.jwt.algorithms": "HS256"}, "not one of"),
        ({H: "JWT", f"{H}.jwt.jwks.url": "/k", "proxy.jwt.algorithms": "none"}, "not one of"),
        ({H: "FILE"}, "proxy.password.file: missing"),
        ({H: "FILE", "proxy.password.file": "/no/such"}, "no such file"),
        ({H: "CUSTOM"}, "class: missing"),
        ({H: "CUSTOM", "hive.server2.custom.authentication.class": "a.b.C"}, "module:name"),
    ],
)
def test_wrong_settings_are_refused(values: dict[str, str], why: str) -> None:
    with pytest.raises(BadSetting, match=why):
        settings_from(values, "x")
