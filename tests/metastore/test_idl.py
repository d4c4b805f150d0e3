"""Our IDL, read by a thrift compiler and compared with clients that were generated from Hive's."""

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import thriftpy2.parser

from metastore.view.methods import CLUSTER_FIELD, ON_CLUSTER, methods
from metastore.view.outbound.structures import PRIMARY_FIELD, SECONDARY_FIELD
from thriftcodec.values import SET, STRING, STRUCT

IDL = Path(__file__).parents[2] / "metastore" / "idl"
HIVES = "hmsclient.genthrift.hive_metastore"  # generated from Hive 2.3's


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our files beside one that has Hive's types by name, which is what they ask of it."""
    beside = tmp_path_factory.mktemp("idl")
    for file in IDL.glob("*.thrift"):
        shutil.copy(file, beside)
    text = (IDL / "causeway_by_cluster.thrift").read_text()
    names = sorted(set(re.findall(r"hive_metastore\.(?!thrift)(\w+)", text)))
    assert len(names) > 60
    types = import_module(f"{HIVES}.ttypes")
    lines = [_declared(name, getattr(types, name, object)) for name in names]
    (beside / "hive_metastore.thrift").write_text("\n".join(lines))
    return beside


def _declared(name: str, theirs: type) -> str:
    if issubclass(theirs, Exception):
        return f"exception {name} {{ 1: string message }}"
    if hasattr(theirs, "_VALUES_TO_NAMES"):
        return f"enum {name} {{ A = 0 }}"
    return f"struct {name} {{ 1: string stub }}"


@pytest.fixture(scope="module")
def compiled(folder: Path) -> ModuleType:
    module: ModuleType = thriftpy2.parser.load(
        str(folder / "causeway_by_cluster.thrift"), module_name="causeway_by_cluster_thrift"
    )
    return module


DECLARED = sorted(name for name, spec in methods().items() if spec.by_cluster)


def test_the_idl_compiles_and_has_every_call(compiled: ModuleType) -> None:
    own = {name for name in compiled.ByCluster.thrift_services if name.endswith(ON_CLUSTER)}
    assert own == {name + ON_CLUSTER for name in DECLARED}
    others = set(compiled.ByCluster.thrift_services) - own
    asked = {"changes", "touched", "forget", "settle", "write"}
    assert others == {"use_cluster", *(f"causeway_{name}" for name in asked)}


@pytest.mark.parametrize("name", DECLARED)
def test_each_call_by_cluster_has_the_arguments_of_hive_s_call_and_the_cluster(
    compiled: ModuleType, name: str
) -> None:
    service = import_module(f"{HIVES}.ThriftHiveMetastore")
    if not hasattr(service, f"{name}_args"):
        pytest.skip("newer than the generated client")
    ours = getattr(compiled.ByCluster, f"{name}{ON_CLUSTER}_args").thrift_spec
    assert ours[CLUSTER_FIELD][:2] == (STRING, "cluster")
    taken = {number: field[:2] for number, field in ours.items() if number != CLUSTER_FIELD}
    assert taken == _fields(getattr(service, f"{name}_args"))
    result = getattr(compiled.ByCluster, f"{name}{ON_CLUSTER}_result").thrift_spec
    given = {number: field[0] for number, field in result.items()}
    theirs = _fields(getattr(service, f"{name}_result"))
    assert given == {number: kind for number, (kind, _) in theirs.items()}


def _fields(struct: Any) -> dict[int, tuple[int, str]]:
    """Wire type and name of each field of a generated class; enums are numbers on the wire."""
    spec = getattr(struct, "thrift_spec", None) or ()
    return {field[0]: (field[1], field[2]) for field in spec if field is not None}


def test_the_two_new_fields_are_where_the_view_puts_them(compiled: ModuleType) -> None:
    clusters = compiled.causeway_metastore.StorageDescriptorClusters.thrift_spec
    assert {number: field[:2] for number, field in clusters.items()} == {
        PRIMARY_FIELD: (STRUCT, "PrimaryCluster"),
        SECONDARY_FIELD: (SET, "SecondaryClusters"),
    }


def test_apache_s_own_compiler_compiles_the_idl(folder: Path, tmp_path: Path) -> None:
    thrift = shutil.which("thrift")
    if thrift is None:
        pytest.skip("no thrift compiler")
    words = [thrift, "-r", "--gen", "py", "-out", str(tmp_path)]
    subprocess.run([*words, str(folder / "causeway_by_cluster.thrift")], check=True)
    assert (tmp_path / "causeway_by_cluster" / "ByCluster.py").exists()
