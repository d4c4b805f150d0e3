"""Access rules before real clusters: denied statements fail, denied names are hidden, both are
audited, and the guard refuses a read that the analysis missed.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes

from cli.stack.stack import Stack
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import Known, Read
from router.claim import KEY, claim_of, encode
from tests.e2e.conftest import C1, Connect, Sql, rows
from tests.e2e.support.fronts import Front, serving

pytestmark = pytest.mark.e2e
RULES = """
[[rules]]
name = "no pay"
effect = "deny"
users = ["cid"]
tables = ["{db}.provoked_pay"]
"""


@pytest.fixture
def names(db: str, sql: Sql) -> tuple[str, str]:
    """An open table and a denied one, in c1, and a view of both."""
    free, pay = f"{db}.free", f"{db}.provoked_pay"
    made = [f"CREATE TABLE {each} USING parquet AS SELECT 1 AS id" for each in (free, pay)]
    sql(f"USE CLUSTER {C1}", *made, f"CREATE VIEW {db}.provoked_v AS SELECT * FROM {pay}")
    return free, pay


@pytest.fixture
def front(stack: Stack, db: str, names: tuple[str, str], tmp_path: Path) -> Iterator[Front]:
    rules = tmp_path / "access.toml"
    rules.write_text(RULES.format(db=db))
    more = f"access.rules = '{rules}'\nproxy.audit.file = '{tmp_path / 'audit.log'}'\n"
    with serving(stack, tmp_path / "front.toml", more) as there:
        yield there


def test_denied_tables_are_refused_hidden_and_audited(
    front: Front, db: str, names: tuple[str, str], tmp_path: Path
) -> None:
    free, pay = names
    where = front.binary
    with (
        closing(hive.connect(where.host, where.port, username="cid")) as cid,
        closing(hive.connect(where.host, where.port, username="dan")) as dan,
    ):
        for text in (
            f"SELECT * FROM {pay}",
            f"SELECT * FROM {db}.provoked_v",
            f"CREATE TEMPORARY VIEW x AS SELECT * FROM {pay.upper()}",
            "SELECT * FROM parquet.`/any/path`",
            f"DROP TABLE {pay}",
        ):
            with pytest.raises(OperationalError, match="CW107"):
                rows(cid.cursor(), text)
        assert rows(cid.cursor(), f"SELECT * FROM {free}") == [(1,)]
        assert rows(dan.cursor(), f"SELECT * FROM {pay}") == [(1,)]
        listed = rows(cid.cursor(), f"SHOW TABLES IN {db}")
        assert [row[1] for row in listed] == ["free", "provoked_v"]
        assert len(rows(dan.cursor(), f"SHOW TABLES IN {db}")) == 3
        (explained,) = rows(cid.cursor(), f"EXPLAIN CLUSTER SELECT * FROM {pay}")
        assert "the rule 'no pay' denies it" in str(explained)
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    (denied,) = [each for each in lines if each.get("text") == f"SELECT * FROM {pay}"
                 and each["user"] == "cid"]  # fmt: skip
    assert (denied["rule"], denied["code"]) == ("access", "CW107")
    assert "'no pay'" in denied["because"]


@pytest.mark.provokes("CW361")
def test_a_read_that_the_analysis_missed_is_refused_by_the_guard(
    connect: Connect, names: tuple[str, str]
) -> None:
    """The claim is of a statement that reads the open table, but the text reads the denied one."""
    free, pay = (TableRef.parse(each) for each in names)
    facts = {free: TableFacts(Replicas(C1, frozenset(), frozenset()))}
    claim = claim_of(Known("select", (Read(free),)), ClusterName(C1), facts, Coverage.READ)
    connection = connect(C1)
    for text, works in ((f"SELECT * FROM {free}", True), (f"SELECT * FROM {pay}", False)):
        request = ttypes.TExecuteStatementReq(
            connection.sessionHandle, text, {KEY: encode(claim)}, runAsync=False
        )
        response = connection.client.ExecuteStatement(request)
        message = response.status.errorMessage or ""
        assert not message if works else "CW361" in message and str(pay) in message
