"""`ALTER TABLE .. COPY .. TO ..` through the proxy: routing sees the copy at once (DC-P1)."""

import pytest
from pyhive.exc import OperationalError

from cli.server.admin import call
from cli.stack.stack import Stack
from conf.settings.load import load
from tests.e2e.clients.test_examples import WHERE
from tests.e2e.conftest import C1, C2, Sql

pytestmark = pytest.mark.e2e


def test_a_copy_makes_a_join_possible_and_a_write_ends_it(stack: Stack, db: str, sql: Sql) -> None:
    for home, table in ((C1, "t11"), (C2, "t21")):
        sql(
            f"USE CLUSTER {home}",
            f"CREATE TABLE {db}.{table} (id INT) USING parquet PARTITIONED BY (ds STRING)"
            if table == "t11"
            else f"CREATE TABLE {db}.{table} (id INT) USING parquet",
            f"INSERT INTO {db}.{table} VALUES (1{', 1' if table == 't11' else ''})",
        )
    join = f"SELECT {WHERE}, t11.id FROM {db}.t11 JOIN {db}.t21 USING (id)"
    with pytest.raises(OperationalError, match="CW104"):
        sql(join)
    [(message,)] = sql(f"USE {db}", f"ALTER TABLE t11 PARTITION (ds = '1') COPY {C1} TO {C2}")
    assert message.startswith("1 copied")
    assert sql(join) == [(C2, 1)]
    sql(f"INSERT INTO {db}.t11 VALUES (1, '1')")
    with pytest.raises(OperationalError, match="CW104"):
        sql(join)
    sql(f"ALTER TABLE {db}.t11 COPY {C1} TO {C2}")
    assert sql(join) == [(C2, 1), (C2, 1)]
    with pytest.raises(OperationalError, match="CW601"):
        sql(f"ALTER TABLE {db}.t11 COPY {C2} TO {C1}")

    operating = load(stack.layout.settings).operating
    query = f"/v1/history/copies?table={db}.t11"
    second, first = call(operating, "GET", query)["copies"]
    assert (first["from"], first["to"], first["state"]) == (C1, C2, "SUCCEEDED")
    assert [each["partition"] for each in first["objects"]] == ["ds=1"]
    assert first["objects"][0]["version"] != second["objects"][0]["version"]
    assert first["bytes"] == first["sent"] > 0
    assert first["trace"] == first["statement"] != second["statement"]
