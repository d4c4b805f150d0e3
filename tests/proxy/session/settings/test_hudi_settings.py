import pytest

from conf.names import TableRef
from conf.tables import TableInfo, TableKind
from dialect.analyze import analyze
from dialect.statement import Namespace
from proxy.errors import NotIncremental
from proxy.session.settings.hudi_settings import check_incremental


class Lake:
    """`d.t` and `d.u` are Hudi tables; all others are parquet."""

    def table(self, ref: TableRef) -> TableInfo:
        provider = "hudi" if str(ref) in ("d.t", "d.u") else "parquet"
        return TableInfo(ref, TableKind.TABLE, (), provider=provider)


def check(sql: str, **settings: str) -> None:
    variables = {key.replace("_", "."): value for key, value in settings.items()}
    statement = analyze(sql, Namespace("d", variables), Lake())
    check_incremental(statement, variables, Lake().table)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t",
        "SELECT * FROM p JOIN T ON true",
        "INSERT INTO p SELECT * FROM d.t",
        "CREATE TABLE x AS SELECT * FROM t",
        "WITH c AS (SELECT * FROM t) SELECT * FROM c",
    ],
)
@pytest.mark.parametrize("key", ["hoodie_t_consume_mode", "hoodie_D_T_consume_mode"])
def test_what_reads_the_table_is_refused_with_the_function_to_use(sql: str, key: str) -> None:
    with pytest.raises(NotIncremental, match=r"hudi_table_changes\('d.t', 'latest_state'"):
        check(sql, **{key: " Incremental "})


def test_a_query_type_concerns_each_hudi_table() -> None:
    with pytest.raises(NotIncremental, match=r"SELECT on d\.u"):
        check("SELECT * FROM u", hoodie_datasource_query_type="incremental")
    check("SELECT * FROM u", hoodie_datasource_query_type="read_optimized")
    check("SELECT * FROM p", hoodie_datasource_query_type="incremental")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM u",
        "SELECT * FROM other.t",
        "SELECT 1",
        "INSERT INTO t VALUES (1)",
        "SELECT * FROM hudi_table_changes('d.t', 'latest_state', 'earliest')",
    ],
)
def test_what_does_not_read_the_table_runs(sql: str) -> None:
    check(sql, hoodie_t_consume_mode="INCREMENTAL")


def test_another_mode_changes_nothing() -> None:
    check("SELECT * FROM t", hoodie_t_consume_mode="SNAPSHOT")
