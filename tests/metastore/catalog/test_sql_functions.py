"""Functions written in SQL, as Spark 4.3 stores them."""

import json

from conf.tables import ViewText
from metastore.catalog.sql_functions import sql_function_texts
from thriftcodec.values import LIST, STRING, STRUCT, Items, Struct


def function(name: str, class_name: str, *uris: str) -> Struct:
    resources = Items(STRUCT, (Struct({2: (STRING, uri)}) for uri in uris))
    fields = {1: (STRING, name), 2: (STRING, "db"), 3: (STRING, class_name)}
    return Struct(fields | ({8: (LIST, resources)} if uris else {}))


def blob(**properties: str) -> str:
    texts = {f"sqlFunction.{name}": text for name, text in properties.items()}
    parts = {"numParts": "2", "part.0": "spark_catalog", "part.1": "default"}
    return json.dumps(texts | {f"catalogAndNamespace.{key}": part for key, part in parts.items()})


def test_an_expression_and_a_query_are_read() -> None:
    texts = sql_function_texts(
        [
            function("Area", "sqlFunction.", "000" + blob(expression="w * h", comment="x")),
            function("total", "sqlFunction.", "000" + blob(query="SELECT 1 FROM t")),
            function("udf", "org.example.Udf", "hdfs:///a.jar"),
        ]
    )
    assert texts == {
        "db.area": ViewText("SELECT w * h", "default"),
        "db.total": ViewText("SELECT 1 FROM t", "default"),
    }


def test_pieces_are_joined_by_their_numbers() -> None:
    text = "SELECT " + "x, " * 3000 + "1 FROM t"
    whole = blob(query=text)
    pieces = [f"{at:03}{whole[at * 4000 : (at + 1) * 4000]}" for at in range(3)]
    texts = sql_function_texts([function("f", "sqlFunction.", *reversed(pieces))])
    assert texts == {"db.f": ViewText(text, "default")}


def test_a_text_that_is_not_there_is_not_known() -> None:
    foreign = ("000" + blob(query="SELECT 1").replace("spark_catalog", "other"),)
    for uris in ((), ("000{",), ("000[]",), ("000" + blob(comment="x"),), foreign):
        assert sql_function_texts([function("f", "sqlFunction.", *uris)]) == {"db.f": None}
