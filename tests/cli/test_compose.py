"""docker-compose.yml fits the files that it mounts."""

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

from conf.settings.reading.load import load, properties

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES = set(
    re.findall(
        r"^  ([a-z]+):$", COMPOSE.partition("\nservices:\n")[2].partition("\nvolumes:")[0], re.M
    )
)


def test_every_address_is_a_service() -> None:
    settings = load(ROOT / "conf" / "containers" / "causeway.toml")
    hosts = {each.host for each in settings.metastores}
    hosts |= {each.host for each in settings.views.values()}
    for cluster in settings.topology.clusters.values():
        assert cluster.name in SERVICES
        hosts |= {each.host for each in cluster.hs2}
    assert hosts == {"metastore", "views", "east", "west"}
    assert hosts <= SERVICES


def test_each_thrift_server_has_its_own_clusters_view() -> None:
    settings = load(ROOT / "conf" / "containers" / "causeway.toml")
    for name, view in settings.views.items():
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
    mounted = re.findall(r"- \./(conf/containers[^:]*):", COMPOSE)
    assert len(mounted) >= 4
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_the_metastore_uses_the_database_of_the_compose_file() -> None:
    site = ElementTree.parse(ROOT / "conf" / "containers" / "metastore" / "hive-site.xml")
    result = {each.findtext("name"): each.findtext("value") for each in site.iter("property")}
    assert result["javax.jdo.option.ConnectionURL"] == "jdbc:postgresql://postgres:5432/metastore"
    # Hadoop puts a variable of the environment in its place.
    assert result["javax.jdo.option.ConnectionPassword"] == "${env.METASTORE_PASSWORD}"
    assert "      METASTORE_PASSWORD: *password\n" in COMPOSE


def test_nothing_has_a_default_password() -> None:
    passwords = re.findall(r"^ *(\w*PASSWORD\w*): (.*)$", COMPOSE, re.M)
    assert len(passwords) == 2
    for name, value in passwords:
        required = "${CAUSEWAY_POSTGRES_PASSWORD:?" in value
        assert required or value == "*password", name


def test_no_container_runs_as_root() -> None:
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    last = max(at for at, line in enumerate(lines) if line.startswith("FROM "))
    users = [line for line in lines[last:] if line.startswith("USER ")]
    assert users == ["USER causeway"]
    assert COMPOSE.count("cap_drop: [ALL]") == COMPOSE.count("no-new-privileges:true") == 2
    assert "\n    user: postgres\n" in COMPOSE


def test_base_images_have_exact_tags() -> None:
    images = re.findall(r"_IMAGE(?::-|=)([^}\s]+)", COMPOSE + DOCKERFILE)
    assert len(images) == 7
    for image in images:
        assert re.fullmatch(r"[a-z-]+:\d+\.\d+[\w.-]*", image), image
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
