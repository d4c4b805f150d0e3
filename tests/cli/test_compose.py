"""docker-compose.yml fits the files that it mounts."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from conf.names import ClusterName
from conf.secrets import SecretFile
from conf.settings.load import load, properties
from conf.settings.settings import Settings
from proxy.administration.operator_tokens import first_token
from proxy.auth.passwords.password_client import FilePasswords
from saslauth.errors import BadCredentials

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
CONTAINERS = ROOT / "conf" / "containers"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
OWN = [name for name, each in SERVICES.items() if each["image"] == "causeway"]


def made_secrets(folder: Path, password: str = "s3cret") -> Path:
    """What the service `secrets` makes."""
    folder.mkdir(exist_ok=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", str(CONTAINERS / "secrets.sh"), str(folder)],
        env=os.environ | {"PATH": path, "CAUSEWAY_PASSWORD": password},
        check=True,
        timeout=60,
    )
    return folder


def settings_in(folder: Path) -> Settings:
    """The settings of the containers, with their secrets in a folder of this machine."""
    path = folder / "causeway.toml"
    text = (CONTAINERS / "causeway.toml").read_text()
    path.write_text(text.replace("/secrets/", f"{made_secrets(folder / 'secrets')}/"))
    return load(path)


@pytest.mark.slow
def test_the_secrets_are_files_that_causeway_takes(tmp_path: Path) -> None:
    folder = made_secrets(tmp_path / "secrets")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(before) == {"console", "passwords", "tokens"}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    made_secrets(folder, "another")
    after = {path.name: path.read_text() for path in folder.iterdir()}
    assert (after["console"], after["tokens"]) == (before["console"], before["tokens"])
    users = FilePasswords(SecretFile(folder / "passwords"))
    assert users.check("admin", "another") == "admin"
    assert users.check("console", after["console"].strip()) == "console"
    assert first_token(SecretFile(folder / "tokens")) == after["tokens"].split()[1]
    with pytest.raises(BadCredentials):
        users.check("admin", "s3cret")


def test_every_address_is_a_service(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert settings.operating.admin is not None
    assert settings.lifecycle.port is not None
    assert settings.operating.admin.host == settings.console.proxies[0].host == "proxy"
    assert settings.console.sql is not None
    assert settings.console.sql.host == "proxy"
    assert (settings.lifecycle.port.host, settings.console.listen.host) == ("lifecycle", "console")
    hosts = {each.host for each in settings.metastores}
    hosts |= {each.host for each in settings.view_addresses}
    for cluster in settings.topology.clusters.values():
        assert cluster.name in SERVICES
        hosts |= {each.host for each in cluster.hs2}
    assert hosts == {"metastore", "views", "east", "west"}
    assert hosts <= set(SERVICES)


def test_each_thrift_server_has_its_own_clusters_view(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    for name, (view,) in settings.views.items():
        site = properties(ROOT / "conf" / "containers" / name / "hive-site.xml")
        assert site["hive.metastore.uris"] == f"thrift://{view}"
        text = (ROOT / "conf" / "containers" / name / "spark-defaults.conf").read_text()
        spark = dict(line.split(" ", 1) for line in text.splitlines())
        warehouse = settings.topology.clusters[name].filesystem
        assert spark["spark.sql.warehouse.dir"] == warehouse
        assert spark["spark.causeway.cluster"] == spark["spark.app.name"] == name
        assert spark["spark.driver.extraJavaOptions"].startswith("-javaagent:/opt/jars/")
        assert spark["spark.causeway.default.cluster"] == settings.topology.default


def test_mounted_files_exist() -> None:
    mounted = re.findall(r"- \./([^:]*):", COMPOSE)
    assert len(mounted) >= 10
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_the_metastore_uses_the_database_of_the_compose_file() -> None:
    site = ElementTree.parse(ROOT / "conf" / "containers" / "metastore" / "hive-site.xml")
    result = {each.findtext("name"): each.findtext("value") for each in site.iter("property")}
    assert result["javax.jdo.option.ConnectionURL"] == "jdbc:postgresql://postgres:5432/metastore"
    # Hadoop puts a variable of the environment in its place.
    assert result["javax.jdo.option.ConnectionPassword"] == "${env.METASTORE_PASSWORD}"
    assert "      METASTORE_PASSWORD: *password\n" in COMPOSE


def test_nothing_has_a_default_password() -> None:
    passwords = [
        (name, str(value))
        for service in SERVICES.values()
        for name, value in service.get("environment", {}).items()
        if "PASSWORD" in name
    ]
    assert len(passwords) == 7
    for name, value in passwords:
        assert re.fullmatch(r"\$\{CAUSEWAY_(\w+_)?PASSWORD:\?.*\}", value), name


def test_no_container_runs_as_root_or_writes_its_file_system() -> None:
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    last = max(at for at, line in enumerate(lines) if line.startswith("FROM "))
    users = [line for line in lines[last:] if line.startswith("USER ")]
    assert users == ["USER causeway"]
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert ("user" in service) == (name not in OWN), name
    assert {SERVICES[name]["user"] for name in SERVICES if name not in OWN} == {
        "postgres",
        "nobody",
        "grafana",
    }


def test_what_causeway_writes_are_volumes_of_its_user() -> None:
    (owned,) = re.findall(r"install --directory --owner causeway --group causeway (.*)", DOCKERFILE)
    mounted = {
        volume.split(":")[1]
        for name in OWN
        for volume in SERVICES[name]["volumes"]
        if not volume.startswith("./")
    }
    assert mounted == set(owned.split())
    for name in OWN:
        assert [each.split(":")[0] for each in SERVICES[name]["tmpfs"]] == [
            "/tmp",
            "/home/causeway",
        ]
        # Without options Docker mounts it for 64 MB, and nothing in it can be executed.
        assert all("exec," in each and "size=" in each for each in SERVICES[name]["tmpfs"])


def test_every_service_says_whether_it_is_healthy(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert [name for name, each in SERVICES.items() if "healthcheck" not in each] == ["secrets"]
    probes = {name: " ".join(SERVICES[name]["healthcheck"]["test"]) for name in OWN[1:]}
    assert f"http://{settings.operating.admin}/health" in probes["proxy"]
    assert f"http://{settings.lifecycle.port}/health" in probes["lifecycle"]
    assert f"http://{settings.console.listen}/login" in probes["console"]
    (east,) = settings.views[ClusterName("east")]
    assert f"({east.host!r}, {east.port})" in probes["views"]
    for name, cluster in settings.topology.clusters.items():
        assert f"({cluster.hs2[0].host!r}, {cluster.hs2[0].port})" in probes[name]
    for name, probe in probes.items():
        program, _, code = SERVICES[name]["healthcheck"]["test"][1:]
        assert program == "python", probe
        compile(code, name, "exec")


def test_a_service_waits_for_others_that_are_healthy() -> None:
    for name, service in SERVICES.items():
        for other in service.get("depends_on", ()):
            assert other in SERVICES, name


def test_prometheus_and_grafana_have_what_the_documentation_has(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    prometheus = yaml.safe_load((CONTAINERS / "prometheus.yml").read_text())
    targets = {
        each["job_name"]: each["static_configs"][0]["targets"]
        for each in prometheus["scrape_configs"]
    }
    assert targets == {
        "causeway": [str(settings.operating.admin)],
        "causeway-lifecycle": [str(settings.lifecycle.port)],
    }
    source = yaml.safe_load((CONTAINERS / "grafana" / "datasource.yml").read_text())
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    boards = yaml.safe_load((CONTAINERS / "grafana" / "dashboards.yml").read_text())
    mounts = SERVICES["grafana"]["volumes"]
    path = boards["providers"][0]["options"]["path"]
    assert f"./docs/examples/monitoring:{path}:ro" in mounts


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("Prometheus's promtool is not on PATH")
    shutil.copy(CONTAINERS / "prometheus.yml", tmp_path)
    shutil.copy(ROOT / "docs" / "examples" / "monitoring" / "alerts.yml", tmp_path)
    done = subprocess.run(
        ["promtool", "check", "config", str(tmp_path / "prometheus.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_base_images_have_exact_tags_and_digests() -> None:
    images = re.findall(r"_IMAGE(?::-|=)([^}\s]+)", COMPOSE + DOCKERFILE)
    assert len(images) == 9
    for image in images:
        assert re.fullmatch(r"[a-z/-]+:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}", image), image
    for name in ("MAVEN", "JAVA", "PYTHON"):  # both files name the same
        (printed,) = re.findall(rf"CAUSEWAY_{name}_IMAGE:-([^}}]+)", COMPOSE)
        assert f"ARG {name}_IMAGE={printed}\n" in DOCKERFILE
    assert re.findall(r"^FROM (?!\$\{)", DOCKERFILE, re.M) == []


def test_the_metastore_creates_its_tables_before_any_transaction() -> None:
    site = properties(ROOT / "conf" / "containers" / "metastore" / "hive-site.xml")
    assert site["datanucleus.schema.autoCreateAll"] == "true"
    assert site["datanucleus.autoStartMechanism"] == "MetaData"
    assert site["datanucleus.autoStartMetaDataFiles"] == "package.jdo"


def test_a_database_is_healthy_when_others_reach_it() -> None:
    assert '"pg_isready", "--host=127.0.0.1"' in COMPOSE


def test_the_image_has_every_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = project["tool"]["setuptools"]["packages"]["find"]["include"]
    packages = [pattern.removesuffix("*") for pattern in found]
    assert "proxy" in packages
    missing = [name for name in packages if f"\nCOPY {name} {name}\n" not in DOCKERFILE]
    assert missing == []


def test_the_container_has_every_room() -> None:
    rooms = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    missing = [
        each for each in rooms["root_packages"] if f"\nCOPY {each} {each}\n" not in DOCKERFILE
    ]
    assert missing == []
