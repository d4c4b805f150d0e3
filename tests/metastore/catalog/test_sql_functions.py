"""Functions written in SQL, as Spark 4.3 stores them."""

import json

from conf.catalog.tables import ViewText
from metastore.catalog.sql_functions import sql_function_texts
from thriftcodec.values import LIST, STRING, STRUCT, Items, Struct


def function(name: str, class_name: str, *uris: str) -> Struct:
    resources = Items(STRUCT, (Struct({2: (STRING, uri)}) for uri in uris))
    fields = {1: (STRING, name), 2: (STRING, "db"), 3: (STRING, class_name)}
    return Struct(fields | ({8: (LIST, resources)} if uris else {}))


def blob(**properties: str) -> str:
    return json.dumps({f"sqlFunction.{name}": text for name, text in properties.items()})


def test_an_expression_and_a_query_are_read() -> None:
    texts = sql_function_texts(
        [
            function("Area", "sqlFunction.", "000" + blob(expression="w * h", comment="x")),
            function("total", "sqlFunction.", "000" + blob(query="SELECT 1 FROM t")),
            function("udf", "org.example.Udf", "hdfs:///a.jar"),
        ]
    )
    assert texts == {
        "db.area": ViewText("SELECT w * h", ""),
        "db.total": ViewText("SELECT 1 FROM t", ""),
    }


def test_pieces_are_joined_by_their_numbers() -> None:
    text = "SELECT " + "x, " * 3000 + "1 FROM t"
    whole = blob(query=text)
    pieces = [f"{at:03}{whole[at * 4000 : (at + 1) * 4000]}" for at in range(3)]
    texts = sql_function_texts([function("f", "sqlFunction.", *reversed(pieces))])
    assert texts == {"db.f": ViewText(text, "")}


def test_a_missing_text_is_unknown() -> None:
    quoted = ("000" + blob(query='SELECT "a"'),)
    calling = ("000" + blob(query="SELECT a", inputParam="a INT DEFAULT f(1)"),)
    others = (("000{",), ("000[]",), ("000" + blob(comment="x"),))
    for uris in ((), *others, quoted, calling):
        assert sql_function_texts([function("f", "sqlFunction.", *uris)]) == {"db.f": None}
