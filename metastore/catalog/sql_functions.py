"""The texts of permanent functions that are written in SQL, as Spark 4 keeps them in the metastore.

Such a function has the class name `sqlFunction.`. Its properties are one JSON object, which is cut
into pieces. Each URI of the function's resources is a piece after three digits, its number.
"""

import json
import re
from collections.abc import Iterable

from conf.catalog.tables import ViewText
from thriftcodec.values import Struct

_CLASS = "sqlFunction."
_DIGITS = 3
_CALL = re.compile(r"\bDEFAULT\b.*\(", re.IGNORECASE | re.DOTALL)


def sql_function_texts(functions: Iterable[Struct]) -> dict[str, ViewText | None]:
    """The texts of the functions that are written in SQL, as queries, by `db.name` in lower case;
    None for a text that cannot be read."""
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
        parameters = str(properties.get(_CLASS + "inputParam"))
    except (ValueError, AttributeError):
        return None
    text = str(query) if expression is None else f"SELECT {expression}"
    if (expression is None) == (query is None) or '"' in text or _CALL.search(parameters):
        return None  # "a" may be a name or a string, and the default of a parameter may call others
    return ViewText(text, db="")
