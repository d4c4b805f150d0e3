"""The names in random statements: of tables, databases, folders and files."""

from dataclasses import dataclass

Texts = tuple[str, ...]

_TABLES = ("t1", "t2", "t3", "t4", "T5", "d1.t1", "d1.t2", "D2.t6", "`t1`", "`d1`.`t2`", "`a``b`")
_ODD_TABLES = (
    *("`d 1`.`t.1`", "spark_catalog.d1.t7", "`spark_catalog`.d1.t8", "t_1x", "1t", "d1.2t", "12e"),
    *("values", "table", "from", "select", "identifier", "order", "date", "map", "replace", "set"),
    *("partition", "with", "d1.select", "d1.table", "`select`", "first", "if", "interval", "case"),
    *("`-- x`", "`/* x`", "`'x`", "view", "cte1", "d1.cte1", "`cte1`", "into", "reduce", "desc"),
)
_BY_VARIABLE = ("${v_table}", "${v_nested}", "${hiveconf:v_table}", "d2.${v_name}")
_IDENTIFIERS = (
    *("'t1'", "'d1.t2'", "'d1' '.t3'", '"D1.t4"', "'`a b`.`c``d`'", "r'd1.t1'"),
    *("'d1.' || 't5'", "concat('d1', '.', 't6')", "'${v_table}'", "lower('T1')", "x"),
    *("'d1.' || lower('T')", "CONCAT('t', '7')", "'t' || 8", "('t9')", "'spark_catalog.d1.t'"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """Words of SQL for each place of a statement.

    `written` and `made` are the tables and views that statements write and create, `temporary` the
    session's views; where they are empty, these statements name what others read. `identifiers` are
    arguments of IDENTIFIER. `folder` is the beginning of every path, without quotes.
    """

    tables: Texts = _TABLES
    odd_tables: Texts = _ODD_TABLES
    by_variable: Texts = _BY_VARIABLE
    identifiers: Texts = _IDENTIFIERS
    written: Texts = ()
    made: Texts = ()
    temporary: Texts = ()
    databases: Texts = ("d1", "`d 2`", "spark_catalog.d3", "IDENTIFIER('d4')", "select")
    used: Texts = ("d1", "`d1`", "D2", "select", "spark_catalog.d1")
    functions: Texts = ("f",)
    folder: str = ""
