"""The texts of permanent functions that are written in SQL, as Spark 4 keeps them in the metastore.

Such a function has the class name `sqlFunction.`. Its properties are one JSON object, cut into the
URIs of its resources: three digits with the number of the piece, then the piece.
"""

import json
from collections.abc import Iterable

from conf.tables import ViewText
from thriftcodec.values import Struct

_CLASS = "sqlFunction."
_DIGITS = 3
_NAMESPACE = "catalogAndNamespace"  # of names without a database, in the properties


def sql_function_texts(functions: Iterable[Struct]) -> dict[str, ViewText | None]:
    """The texts of the functions written in SQL, as queries, by `db.name` in lower case.

    None: the text cannot be read.
    """
    return {
        f"{each.get(2)}.{each.get(1)}".lower(): _text(each)
        for each in functions
        if each.get(3) == _CLASS
    }


def _text(function: Struct) -> ViewText | None:
    pieces = sorted(str(resource.get(2)) for resource in function.get(8) or ())
    try:
        properties = json.loads("".join(piece[_DIGITS:] for piece in pieces))
        expression, query = (properties.get(_CLASS + kind) for kind in ("expression", "query"))
        names = [properties.get(f"{_NAMESPACE}.part.{at}") for at in range(3)]
    except (ValueError, AttributeError):
        return None
    catalog, database, more = names
    if catalog != "spark_catalog" or not isinstance(database, str) or more is not None:
        return None
    if (expression is None) == (query is None):
        return None
    return ViewText(str(query) if expression is None else f"SELECT {expression}", database.lower())
