"""Scripts are cut where their statements end, and filled in."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.processes.errors import NoScript
from pipeline.processes.script import MAX_BYTES, fill_in, read_script, statements


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
def test_no_text_breaks_the_cutting(text: str) -> None:
    found = statements(text)
    assert all(each.strip() == each != "" for each in found)
    assert len(found) <= text.count(";") + 1


def test_parameters_are_filled_in_and_others_stay() -> None:
    values = {"in_table": "t", "falcon_in_filter": "(ds='1')"}
    text = "SELECT * FROM ${in_table} WHERE ${hivevar:falcon_in_filter} AND x = ${other}"
    assert fill_in(text, values) == "SELECT * FROM t WHERE (ds='1') AND x = ${other}"


def test_scripts_are_read_from_local_files(tmp_path: Path) -> None:
    path = tmp_path / "a b.hql"
    path.write_text("SELECT 1")
    assert read_script(str(path)) == "SELECT 1"
    assert read_script(path.as_uri()) == "SELECT 1"
    for text in ("hdfs://nn/x.hql", str(tmp_path / "none.hql")):
        with pytest.raises(NoScript):
            read_script(text)
    path.write_bytes(b"\xff")
    with pytest.raises(NoScript, match="not UTF-8"):
        read_script(str(path))
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(NoScript, match="larger"):
        read_script(str(path))
