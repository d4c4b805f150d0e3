"""Log-ins to Hive's metastore behind SASL: by keytab, by delegation tokens, for other users."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from conf.names import TableRef
from conf.secrets import SecretFile
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from metastore.errors import MetastoreDown, MetastoreRefused
from saslauth.tokens.delegation_token import text_of_token, token_of_text
from tests.e2e.support import own_executor, secured_metastore, secured_view
from tests.e2e.support.secured_metastore import METASTORE
from tests.e2e.support.secured_view import EAST, SITE, VIEW, WEST, core_site, spark_sql
from tests.proxy import kdc as kdcs
from tests.proxy.certificates import made
from tests.proxy.kdc import OURS, Kdc
from tests.saslauth.tokens import file_of
from tests.secret_files import private
from thriftcodec.values import STRING, Struct

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.e2e
LIFE = 20  # seconds of a ticket


@dataclass(frozen=True, slots=True)
class Site:
    kdc: Kdc
    endpoint: Endpoint
    folder: Path
    protection: str

    def by_keytab(self, user: str = OURS) -> MetastoreLogin:
        keytab = SecretFile(self.kdc.keytab(user))
        return MetastoreLogin(True, METASTORE.replace("localhost", "_HOST"), user, keytab)

    def client(self, login: MetastoreLogin, user: str | None = None) -> HmsClient:
        return HmsClient((self.endpoint,), 30.0, user, login)


@pytest.fixture(scope="module", params=["authentication", "integrity", "privacy"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("secured")
    (folder / "kdc").mkdir()
    with (
        kdcs.running(folder / "kdc", f"{LIFE}s", (METASTORE, VIEW, WEST, EAST)) as kdc,
        pytest.MonkeyPatch.context() as to,
    ):
        for name, value in kdc.environment.items():
            to.setenv(name, value)
        (folder / "hms").mkdir()
        with secured_metastore.metastore(folder / "hms", kdc, request.param) as endpoint:
            yield Site(kdc, endpoint, folder, request.param)


def test_a_keytab_logs_in(site: Site) -> None:
    with site.client(site.by_keytab()) as client:
        assert client.get_all_databases() == ["default"]
        names = [f"d{number}" for number in range(20)]
        for name in names:
            client.create_database(
                Database(Struct({1: (STRING, name), 3: (STRING, f"file:/{name}")}))
            )
            client.drop_database(name)
        assert client.get_databases("*") == ["default"]


def test_calls_without_a_log_in_are_refused(site: Site) -> None:
    with pytest.raises(MetastoreDown), HmsClient((site.endpoint,), 5.0) as client:
        client.get_all_databases()


def test_work_in_another_users_name_goes_by_a_delegation_token(site: Site) -> None:
    """Tokens have no encryption here, so a metastore that requires it refuses by name."""
    with site.client(site.by_keytab(), "ann") as client:
        if site.protection == "privacy":
            with pytest.raises(MetastoreDown, match=r"requires 'auth-conf'"):
                client.get_all_databases()
            return
        assert "default" in client.get_all_databases()
        client.create_table(Table.make(TableRef("default", "anns"), [("id", "int")]))
        client.drop_table(TableRef("default", "anns"))
    refused = pytest.raises(MetastoreRefused, match="no delegation token for user ann")
    with site.client(site.by_keytab("bob"), "ann") as bob, refused:
        bob.get_all_databases()


def test_a_file_with_a_token_logs_in(site: Site) -> None:
    if site.protection == "privacy":
        pytest.skip("tokens have no encryption here")
    with site.client(site.by_keytab()) as client:
        arguments = Struct({1: (STRING, "causeway"), 2: (STRING, "causeway")})
        text = client.call("get_delegation_token", arguments)
    file = SecretFile(private(site.folder / "token", f"{text}\n"))
    with site.client(MetastoreLogin(True, token=file)) as client:
        assert "default" in client.get_all_databases()
    token = token_of_text(text)
    private(file.path, text_of_token(replace(token, password=b"another")))
    with (
        pytest.raises(MetastoreDown, match="log-in"),
        site.client(MetastoreLogin(True, token=file)) as client,
    ):
        client.get_all_databases()


def test_a_failed_log_in_has_its_reason(site: Site) -> None:
    wrong = replace(site.by_keytab(), server="hms/elsewhere@EXAMPLE.COM")
    with pytest.raises(MetastoreDown, match="hms/elsewhere"), site.client(wrong) as client:
        client.get_all_databases()


def test_sparks_read_and_write_through_a_view_with_kerberos(site: Site) -> None:
    """Their tickets and the view's live for seconds. The metastore logs the user, and a Spark of
    another cluster is refused by name."""
    if site.protection != "integrity":
        pytest.skip("once is enough; privacy is not for the tokens by which a view calls")
    sql = "CREATE TABLE t (a INT) USING parquet; INSERT INTO t VALUES (1), (41);"
    sql += "SELECT sum(a) AS s FROM t;"
    sql += "INSERT INTO parted PARTITION (p = '1') VALUES (7); SELECT a FROM parted"
    kdc, folder, protection = site.kdc, site.folder, site.protection
    with (
        secured_view.view(folder / "view", kdc, site.endpoint) as (west, log),
        site.client(site.by_keytab()) as direct,
    ):
        _make_parted(direct, folder / "view" / "west")
        with spark_sql(folder / "east", kdc, west, EAST, "SHOW TABLES", protection) as other:
            other.communicate(timeout=120)
            assert other.returncode != 0
        refused = "spark-east/localhost@EXAMPLE.COM may not speak for cluster west"
        assert refused in (folder / "east" / "log").read_text()
        assert f"caller refused: [CW358] {refused}" in log.read_text()
        with spark_sql(folder / "west", kdc, west, WEST, sql, protection) as own:
            started = time.monotonic()
            out, _ = own.communicate(timeout=120)
            assert out.split() == ["42", "7"], (folder / "west" / "log").read_text()[-3000:]
        time.sleep(max(0.0, started + LIFE + 1 - time.monotonic()))
        login = replace(site.by_keytab(WEST), server=VIEW)
        with HmsClient((west,), 30.0, None, login) as client:
            assert client.get_table(TableRef("default", "t")).owner == "spark-west"
    assert "ugi=spark-west" in (folder / "hms" / "log").read_text()


def test_processes_without_a_ticket_log_in_by_tokens_of_the_view(site: Site) -> None:
    """An executor has its driver's token. A driver in cluster mode has the one that `spark-submit`
    got, here for the user ann, whom spark-west may impersonate."""
    if site.protection != "integrity":
        pytest.skip("once is enough; privacy is not for tokens")
    kdc, folder = site.kdc, site.folder / "tokens"
    folder.mkdir()
    core = core_site(WEST, site.protection)
    keytab = {"spark.kerberos.principal": WEST, "spark.kerberos.keytab": str(kdc.keytab(WEST))}
    with secured_view.view(folder / "view", kdc, site.endpoint, tokens=True) as (west, log):
        own = own_executor.spark(folder / "west", west, SITE, core, keytab)
        assert own.returncode == 0, own.stderr[-5000:]
        login = replace(site.by_keytab(WEST), server=VIEW)
        with HmsClient((west,), 30.0, None, login) as client:
            named = Struct({1: (STRING, "ann"), 2: (STRING, "")})
            text = client.call("get_delegation_token", named)
        tokens = folder / "tokens.hdts"
        tokens.write_bytes(file_of(token_of_text(text)))
        found = {"HADOOP_TOKEN_FILE_LOCATION": str(tokens)}
        anns = own_executor.spark(folder / "ann", west, SITE, core, environment=found)
        assert anns.returncode == 0, anns.stderr[-5000:]
        assert "closed" not in log.read_text()
    for name in ("west-texts", "ann-texts"):
        assert list((folder / "view" / "west" / name).glob("part-*"))
    assert "ugi=ann" in (site.folder / "hms" / "log").read_text()


@pytest.mark.long
def test_spark_for_a_proxy_user_gets_a_token_of_the_view(site: Site) -> None:
    if site.protection != "integrity":
        pytest.skip("once is enough; privacy is not for tokens")
    kdc, folder = site.kdc, site.folder / "proxied"
    folder.mkdir()
    sql = "CREATE TABLE anns (a INT) USING parquet; INSERT INTO anns VALUES (42);"
    sql += "SELECT * FROM anns"
    with secured_view.view(folder / "view", kdc, site.endpoint, tokens=True) as (west, _):
        with spark_sql(
            folder / "spark", kdc, west, WEST, sql, site.protection, proxy_user="ann"
        ) as process:
            out, _ = process.communicate(timeout=120)
        assert out.split() == ["42"], (folder / "spark" / "log").read_text()[-3000:]
    with site.client(site.by_keytab()) as direct:
        assert direct.get_table(TableRef("default", "anns")).owner == "ann"


def _make_parted(client: HmsClient, warehouse: Path) -> None:
    """A table of `west`. Its partitions may have facts of their own, so the guard reads
    those of each partition that is written from the view."""
    location, facts = f"file:{warehouse}/parted", {"causeway.primary": "west"}
    ref, keys = TableRef("default", "parted"), [("p", "string")]
    table = Table.make(
        ref, [("a", "int")], location=location, partition_keys=keys, parameters=facts
    )
    client.create_table(table)
    client.add_partitions(ref, [Partition.make(table, ["1"], f"{location}/p=1", {})])


def test_a_metastore_over_tls(tmp_path: Path) -> None:
    """Without SASL, since Hive 2.3 ignores hive.metastore.use.SSL beside it."""
    certificate = made()
    more = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(certificate.p12(tmp_path / "p12", "s3cret")),
        "hive.metastore.keystore.password": "s3cret",
    }
    login = MetastoreLogin(tls=True, truststore=certificate.pem(tmp_path / "ca.pem"))
    (tmp_path / "hms").mkdir()
    with secured_metastore.metastore(tmp_path / "hms", None, more=more) as endpoint:
        for user in (None, "ann"):
            with HmsClient((endpoint,), 30.0, user, login) as client:
                assert client.get_all_databases() == ["default"]
        with HmsClient((endpoint,), 5.0) as client, pytest.raises(MetastoreDown):
            client.get_all_databases()
