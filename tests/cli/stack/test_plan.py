"""The embedded stack's files and commands, made without starting anything."""

import inspect
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from cli.stack.configuration import files, hive_site
from cli.stack.plan import (
    Ports,
    StackLayout,
    StackSpec,
    console_service,
    lifecycle_service,
    metastore_service,
    thrift_server,
)
from conf.names import ClusterName
from conf.settings.load import load
from conf.settings.settings import Writers
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from tests.conf.settings.reading import settings_from

EAST, WEST = ClusterName("east"), ClusterName("west")
PORTS = Ports(
    Endpoint("127.0.0.1", 1),
    {EAST: Endpoint("127.0.0.1", 2), WEST: Endpoint("127.0.0.1", 3)},
    {EAST: Endpoint("127.0.0.1", 4), WEST: Endpoint("127.0.0.1", 5)},
)
SPEC = StackSpec((EAST, WEST), Endpoint("127.0.0.1", 10000))


def test_the_settings_that_are_written_can_be_loaded(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path / 'a "quoted" folder')
    written = files(SPEC, layout, PORTS)[layout.settings]
    tomllib.loads(written)
    path = tmp_path / "causeway.toml"
    path.write_text(written)
    settings = load(path)
    assert settings.topology.default == EAST
    assert settings.metastores == (PORTS.metastore,)
    assert settings.views == {name: (view,) for name, view in PORTS.views.items()}
    assert settings.writers is Writers.VIEWS
    assert settings.topology.clusters[WEST].hs2 == (PORTS.hs2[WEST],)
    assert settings.topology.clusters[WEST].filesystem == f"file://{layout.warehouse(WEST)}"


def test_the_console_listens_where_the_stack_says(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    spec = StackSpec((EAST, WEST), SPEC.proxy, Endpoint("127.0.0.1", 10007))
    path = tmp_path / "causeway.toml"
    path.write_text(files(spec, layout, PORTS)[layout.settings])
    assert load(path).console.listen == spec.console
    service = console_service(Endpoint("127.0.0.1", 10007), layout)
    assert service.argv[-3:] == ("console", "--conf", str(layout.settings))
    assert service.listens == (spec.console,)


def test_the_lifecycle_server_listens_where_the_console_asks_it(tmp_path: Path) -> None:
    layout, listen = StackLayout.at(tmp_path), Endpoint("127.0.0.1", 15010)
    layout.admin_token.touch(0o600)
    path = tmp_path / "causeway.toml"
    written = files(SPEC, layout, replace(PORTS, lifecycle=listen))
    path.write_text(written[layout.settings])
    assert load(path).lifecycle.port == listen
    service = lifecycle_service(listen, layout)
    assert service.argv[-2:] == (str(layout.settings), str(layout.lifecycle_store))
    assert service.listens == (listen,)
    assert "lifecycle.port" not in files(SPEC, layout, PORTS)[layout.settings]


def test_without_views_no_client_is_trusted_to_use_them() -> None:
    layout = StackLayout.at(Path("/x"))
    written = files(StackSpec((EAST, WEST), views=False), layout, PORTS)[layout.settings]
    assert "snapshot.writers" not in written


def test_a_thrift_server_sees_its_own_clusters_view(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    site = files(SPEC, layout, PORTS)[layout.conf(WEST) / "hive-site.xml"]
    assert "<value>thrift://127.0.0.1:5</value>" in site
    alone = StackSpec((EAST, WEST), views=False)
    site = files(alone, layout, PORTS)[layout.conf(WEST) / "hive-site.xml"]
    assert "<value>thrift://127.0.0.1:1</value>" in site


def test_a_thrift_server_has_its_cluster_in_its_environment(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    service = thrift_server(WEST, Path("java"), Path("spark"), SPEC, layout, PORTS)
    assert service.environment["CAUSEWAY_CLUSTER"] == "west"
    assert service.listens == (PORTS.hs2[WEST],)
    spark = files(SPEC, layout, PORTS)[layout.conf(WEST) / "spark-defaults.conf"].splitlines()
    assert "spark.app.name west" in spark
    assert f"spark.sql.warehouse.dir {layout.filesystem(WEST)}" in spark
    assert "spark.sql.filesourceTableRelationCacheSize 0" in spark


def test_jobs_of_all_sessions_share_the_slots_of_a_server(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    written = files(SPEC, layout, PORTS)
    spark = written[layout.conf(WEST) / "spark-defaults.conf"].splitlines()
    pools = ElementTree.fromstring(written[layout.conf(WEST) / "fairscheduler.xml"])
    assert "spark.scheduler.mode FAIR" in spark
    assert pools.findtext("pool[@name='default']/schedulingMode") == "FAIR"


def test_spark_settings_can_be_replaced_and_jars_follow_spark_s_own(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    spec = StackSpec((EAST,), spark={"spark.master": "local[1]"}, jars=(Path("/x.jar"),))
    ports = Ports(PORTS.metastore, PORTS.hs2, PORTS.views)
    spark = files(spec, layout, ports)[layout.conf(EAST) / "spark-defaults.conf"].splitlines()
    assert "spark.master local[1]" in spark
    argv = thrift_server(EAST, Path("java"), Path("spark"), spec, layout, ports).argv
    classpath = argv[argv.index("-cp") + 1].split(":")
    assert classpath == ["spark/jars/*", "/x.jar", str(layout.conf(EAST))]


def test_the_guard_comes_first_and_knows_the_clusters(tmp_path: Path) -> None:
    layout = StackLayout.at(tmp_path)
    spec = StackSpec((EAST, WEST), guard=Path("/guard.jar"), extensions=("an.Other",))
    text = files(spec, layout, PORTS)[layout.conf(WEST) / "spark-defaults.conf"]
    spark = dict(line.split(" ", 1) for line in text.splitlines())
    assert spark["spark.sql.extensions"] == "causeway.guard.Guard,an.Other"
    assert spark["spark.causeway.cluster"] == "west"
    assert spark["spark.causeway.default.cluster"] == "east"
    assert spark["spark.causeway.filesystem.east"] == layout.filesystem(EAST)
    for process in ("driver", "executor"):
        assert spark[f"spark.{process}.extraJavaOptions"] == '"-javaagent:/guard.jar"'
        assert spark[f"spark.{process}.extraClassPath"] == "/guard.jar"
    assert spark["spark.plugins"] == "causeway.guard.WritePlugin"
    argv = thrift_server(WEST, Path("java"), Path("spark"), spec, layout, PORTS).argv
    assert "-javaagent:/guard.jar" in argv[: argv.index("-cp")]
    assert spark["spark.causeway.filesystem.east"] == layout.filesystem(EAST)


def test_hive_site_escapes_what_xml_would_misread(tmp_path: Path) -> None:
    path = tmp_path / "hive-site.xml"
    path.write_text(hive_site({"hive.server2.thrift.bind.host": "a<b>&c"}))
    assert load(path).listen.host == "a<b>&c"
    assert settings_from({}, "nothing").listen.port == 10000


def test_a_deadlock_in_derby_ends_before_clients_of_the_metastore_give_up(tmp_path: Path) -> None:
    """A reader and a writer of one table may wait for each other (20 s by Derby's default)."""
    service = metastore_service(Path("java"), Path("spark"), None, StackLayout.at(tmp_path), PORTS)
    name = "-Dderby.locks.deadlockTimeout="
    [seconds] = [each.removeprefix(name) for each in service.argv if each.startswith(name)]
    assert int(seconds) * 2 < inspect.signature(HmsClient).parameters["timeout"].default
