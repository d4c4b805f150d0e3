import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.locations import Location, clusters_of, foreign_cluster, readings
from conf.names import ClusterName

CASES = json.loads(Path(__file__).with_name("location_cases.json").read_text())
ROWS = [
    pytest.param(case["filesystems"], location, owners, id=f"{case['title']}: {location}")
    for case in CASES
    for location, owners in case["owners"].items()
]
C1, C2, C3 = (ClusterName(name) for name in ("c1", "c2", "c3"))


def test_the_file_of_cases_is_not_empty() -> None:
    assert len(ROWS) > 70


def is_inside(location: str, folder: str) -> bool:
    """Whether a reading of `location` is `folder` or lies below it.

    A bare path lies in `folder` only where that is bare or of the scheme `file`.
    """
    return any(inner.is_inside(outer) for outer in readings(folder) for inner in readings(location))


@pytest.mark.parametrize(("filesystems", "location", "owners"), ROWS)
def test_clusters_of_a_location(
    filesystems: dict[ClusterName, str], location: str, owners: list[str]
) -> None:
    assert sorted(clusters_of(location, filesystems)) == owners


@pytest.mark.parametrize(("filesystems", "location", "owners"), ROWS)
def test_a_location_is_inside_the_file_systems_of_its_clusters(
    filesystems: dict[ClusterName, str], location: str, owners: list[str]
) -> None:
    assert all(is_inside(location, filesystems[ClusterName(name)]) for name in owners)


def test_foreign_cluster_names_another_file_system() -> None:
    roots = {C1: "hdfs://nn.west", C2: "hdfs://nn.east", C3: "hdfs://NN.east:8020/"}
    assert foreign_cluster("hdfs://nn.west/x", roots, C1) is None
    assert foreign_cluster("hdfs://nn.west/x", roots, C2) == C1
    assert foreign_cluster("hdfs://nn/x", roots, C1) == C2
    assert foreign_cluster("hdfs://nn.east/x", roots, C2) is None  # C3 has the same one
    assert foreign_cluster("s3a://bucket/x", roots, C1) is None
    assert foreign_cluster("hdfs://nn.east/x", roots, ClusterName("c4")) == C2


@pytest.mark.parametrize(
    ("location", "folder", "expected"),
    [
        ("hdfs://nn/d/t/x", "hdfs://nn.example:8020/d/t", True),
        ("hdfs://nn/d/tt", "hdfs://nn/d/t", False),
        ("hdfs://nn/d", "hdfs://nn/d/t", False),
        ("/d/t/x", "file:/d/t", True),
        ("/d/t/x", "/d//t/", True),
        ("/d/t/x", "hdfs://nn/d/t", False),
        ("file:/d/s/%2e%2e/t", "file:/d/t", True),
        ("file:/d/s/%2e%2e/t", "file:/d/s", True),
    ],
)
def test_is_inside(location: str, folder: str, expected: bool) -> None:
    assert is_inside(location, folder) is expected


@given(st.text(st.sampled_from("fileHDS3:/@.%2e[]1a "), max_size=30))
def test_every_text_is_a_location_inside_itself(text: str) -> None:
    location = Location.of(text)
    assert location.is_inside(location)
    assert not {"", ".", ".."} & set(location.parts)
