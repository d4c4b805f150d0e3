"""Scripts are split into statements, and their parameters are replaced."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.processes.errors import NoScript
from pipeline.processes.script import MAX_BYTES, fill_in, read_script, statements
from tests.pipeline.falcon.documents import CLUSTER


def test_statements() -> None:
    script = """
    -- a comment; with a semicolon
    SET x=1;
    INSERT INTO t SELECT 'a;b', "c\\";d", `e;f` /* ; */ FROM s; -- end
    SELECT /*+ BROADCAST(s) */ 1;;
    """
    assert statements(script) == [
        "SET x=1",
        'INSERT INTO t SELECT \'a;b\', "c\\";d", `e;f`   FROM s',
        "SELECT /*+ BROADCAST(s) */ 1",
    ]


@given(st.text(alphabet="a;'\"`\\-/*+ \n", max_size=60))
def test_any_text_can_be_split(text: str) -> None:
    found = statements(text)
    assert all(each.strip() == each != "" for each in found)
    assert len(found) <= text.count(";") + 1


def test_parameters_are_filled_in_and_others_stay() -> None:
    values = {"in_table": "t", "falcon_in_filter": "(ds='1')"}
    text = "SELECT * FROM ${in_table} WHERE ${hivevar:falcon_in_filter} AND x = ${other}"
    assert fill_in(text, values) == "SELECT * FROM t WHERE (ds='1') AND x = ${other}"


def cluster(write: str = "hdfs://nn:8020/") -> Cluster:
    text = CLUSTER.replace("{name}", "c1").replace(
        'write" endpoint="file:///', f'write" endpoint="{write}'
    )
    found = document.read(text.encode())
    assert isinstance(found, Cluster)
    return found


def refuse(uri: str) -> str | None:
    raise AssertionError(uri)


def test_scripts_are_read_from_local_files(tmp_path: Path) -> None:
    path = tmp_path / "a b.hql"
    path.write_text("SELECT 1")
    assert read_script(str(path), cluster(), refuse) == "SELECT 1"
    assert read_script(path.as_uri(), cluster(), refuse) == "SELECT 1"
    with pytest.raises(NoScript):
        read_script(str(tmp_path / "none.hql"), cluster("file:///"), refuse)
    path.write_bytes(b"\xff")
    with pytest.raises(NoScript, match="not UTF-8"):
        read_script(str(path), cluster(), refuse)
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(NoScript, match="larger"):
        read_script(str(path), cluster(), refuse)


def test_scripts_are_read_from_the_clusters_file_system() -> None:
    files = {"hdfs://nn:8020/app/x.hql": "SELECT 2", "s3a://b/y.hql": "SELECT 3"}
    assert read_script("/app/x.hql", cluster(), files.get) == "SELECT 2"
    assert read_script("s3a://b/y.hql", cluster(), files.get) == "SELECT 3"
    with pytest.raises(NoScript, match=r"hdfs://nn:8020/app/z\.hql does not exist"):
        read_script("/app/z.hql", cluster(), files.get)
    with pytest.raises(NoScript, match="larger"):
        read_script("/x", cluster(), lambda _: " " * (MAX_BYTES + 1))
    with pytest.raises(NoScript, match="not UTF-8"):
        read_script("/x", cluster(), lambda _: "\ufffd")
