"""A metastore's table in the catalog's words."""

import json

from conf.catalog.tables import Column, TableKind, ViewText
from conf.names import TableRef
from conf.partitions import PartitionKey
from metastore.catalog.describe import describe
from metastore.client.types import Table

REF = TableRef("db", "t")


def test_a_hive_table() -> None:
    table = Table.make(
        REF,
        [("id", "INT"), ("tags", "array<string>")],
        partition_keys=[("ds", "string")],
        kind="EXTERNAL_TABLE",
    )
    info = describe(table)
    assert info.kind is TableKind.EXTERNAL
    assert info.columns == (Column("id", "int"), Column("tags", "array<string>"))
    assert info.partition_keys == (PartitionKey("ds", "string"),)
    assert (info.provider, info.view) == ("hive", None)


def _spark(schema: dict[str, object], cut: int | None = None) -> Table:
    text = json.dumps(schema)
    key = "spark.sql.sources.schema"
    parameters = {"spark.sql.sources.provider": "JSON"}
    if cut is None:
        parameters[key] = text
    else:
        parameters |= {f"{key}.numParts": "2", f"{key}.part.0": text[:cut]}
        parameters[f"{key}.part.1"] = text[cut:]
    return Table.make(
        REF,
        [("col", "array<string>")],
        partition_keys=[("ds", "string")],
        parameters=parameters,
    )


def test_sparks_own_schema() -> None:
    schema: dict[str, object] = {
        "type": "struct",
        "fields": [
            {"name": "Id", "type": "long"},
            {"name": "m", "type": {"type": "map", "keyType": "string", "valueType": "integer"}},
            {
                "name": "s",
                "type": {
                    "type": "struct",
                    "fields": [
                        {"name": "a", "type": {"type": "array", "elementType": "decimal(9,2)"}}
                    ],
                },
            },
            {"name": "ds", "type": "string"},
        ],
    }
    expected = (
        Column("Id", "bigint"),
        Column("m", "map<string,int>"),
        Column("s", "struct<a:array<decimal(9,2)>>"),
    )
    assert describe(_spark(schema)).columns == expected
    assert describe(_spark(schema, cut=40)).columns == expected
    assert describe(_spark(schema)).provider == "json"


def test_a_schema_that_cannot_be_read_is_left() -> None:
    for broken in ({"fields": [{"name": 1}]}, {"fields": 3}, {}):
        assert describe(_spark(broken)).columns == (Column("col", "array<string>"),)
    endless = _spark({})
    endless.parameters = {**endless.parameters, "spark.sql.sources.schema": '{"a":' * 100_000}
    assert describe(endless).columns == (Column("col", "array<string>"),)


def _view(parameters: dict[str, str]) -> Table:
    table = Table.make(REF, [("a", "int")], parameters=parameters, kind="VIRTUAL_VIEW")
    table.set_text(10, "select x from t")
    return table


def test_a_view_of_hive() -> None:
    assert describe(_view({})).view == ViewText("select x from t", "db")


def test_the_text_of_a_view_with_a_sql_path_is_not_known() -> None:
    path = '[["spark_catalog","other"],["system","builtin"]]'
    assert describe(_view({"view.resolutionPath": path})).view is None


def test_a_view_of_spark_remembers_its_namespace_and_names() -> None:
    parameters = {
        "view.catalogAndNamespace.numParts": "2",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "view.catalogAndNamespace.part.1": "other",
        "view.query.out.numCols": "1",
        "view.query.out.col.0": "x",
    }
    renamed = ViewText("select x from t", "other", ("a",), ("x",))
    assert describe(_view(parameters)).view == renamed
    settings = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    for key, quoted in zip(settings, (False, True), strict=True):
        parameters[f"view.sqlConfig.{key}"] = "TRUE"
        view = describe(_view(parameters)).view
        assert view is not None
        assert view.double_quoted_names is quoted
    parameters["view.query.out.col.0"] = "a"
    parameters["view.sqlConfig.spark.sql.ansi.enabled"] = "false"
    assert describe(_view(parameters)).view == ViewText("select x from t", "other")
