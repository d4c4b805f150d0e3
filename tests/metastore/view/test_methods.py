"""The table of methods against the service itself (section 1 of the view's requirements)."""

import re
import shutil
import subprocess

import pytest

from cli.stack.stack import spark_home
from metastore.view.inbound.admission import _ACTS
from metastore.view.methods import Act, methods, parse_path
from thriftcodec.skip import EACH

_SERVICE = "org.apache.hadoop.hive.metastore.api.ThriftHiveMetastore$Iface"
_FB303 = "com.facebook.fb303.FacebookService$Iface"
_METHOD = re.compile(r"public abstract \S.* (\w+)\((.*)\) throws")


def _declared(name: str) -> dict[str, str]:
    """The methods of one interface, with their arguments' types, as Spark's jars have it."""
    javap = shutil.which("javap")
    if javap is None:
        pytest.skip("no JDK: javap reads the service's methods")
    jars = spark_home() / "jars"
    (jar,) = jars.glob("hive-metastore-*.jar")
    (thrift,) = jars.glob("libthrift-*.jar")
    (facebook,) = jars.glob("libfb303-*.jar")
    words = [javap, "-cp", f"{jar}:{thrift}:{facebook}", name]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return dict(_METHOD.findall(text))


@pytest.fixture(scope="module")
def fb303() -> dict[str, str]:
    """What the service inherits."""
    return _declared(_FB303)


@pytest.fixture(scope="module")
def service(fb303: dict[str, str]) -> dict[str, str]:
    """Every method of Hive 2.3.9's service."""
    return _declared(_SERVICE) | fb303


def test_every_method_of_the_service_has_a_row(service: dict[str, str]) -> None:
    assert len(service) > 160
    assert set(service) - set(methods()) == set()


def test_no_row_is_of_another_service(service: dict[str, str]) -> None:
    assert {name for name, spec in methods().items() if not spec.since} - set(service) == set()


def test_all_but_what_the_service_inherits_can_be_called_by_cluster(
    service: dict[str, str], fb303: dict[str, str]
) -> None:
    assert len(fb303) > 10
    by_cluster = {name for name, spec in methods().items() if spec.by_cluster}
    assert by_cluster == set(service) - set(fb303)


def test_every_call_with_a_table_or_partition_object_rewrites_it(service: dict[str, str]) -> None:
    takes = {name for name, types in service.items() if re.search(r"\.(Table|Partition)\b", types)}
    assert len(takes) >= 12
    for name in takes:
        assert methods()[name].inbound, name


def test_no_call_with_a_verb_of_change_is_only_relayed(service: dict[str, str]) -> None:
    verbs = ("create_table", "alter_table", "alter_part", "drop_table", "drop_part", "add_part")
    verbs += ("append_part", "rename_part", "exchange_part", "update_table", "update_part")
    changing = [name for name in service if name.startswith(verbs)]
    assert len(changing) > 30
    assert [name for name in changing if methods()[name].act is Act.RELAY] == []


def test_every_act_has_its_admission() -> None:
    assert set(_ACTS) == set(Act) - {Act.RELAY}


def test_a_path() -> None:
    assert parse_path("1.3[]") == (1, 3, EACH)
