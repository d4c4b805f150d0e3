"""The texts of permanent functions that are written in SQL, as Spark 4 keeps them in the metastore.

Such a function has the class name `sqlFunction.`. Its properties are one JSON object, cut into the
URIs of its resources: three digits with the number of the piece, then the piece.
"""

import json
from collections.abc import Iterable

from thriftcodec.values import Struct

_CLASS = "sqlFunction."
_DIGITS = 3


def sql_function_texts(functions: Iterable[Struct]) -> dict[str, str | None]:
    """The texts of the functions written in SQL, by `db.name` in lower case.

    None: the text cannot be read.
    """
    return {
        f"{each.get(2)}.{each.get(1)}".lower(): _text(each)
        for each in functions
        if each.get(3) == _CLASS
    }


def _text(function: Struct) -> str | None:
    pieces = sorted(str(resource.get(2)) for resource in function.get(8) or ())
    try:
        properties = json.loads("".join(piece[_DIGITS:] for piece in pieces))
        parts = [properties.get(_CLASS + kind) for kind in ("expression", "query")]
    except (ValueError, AttributeError):
        return None
    found = [part for part in parts if isinstance(part, str)]
    return found[0] if len(found) == 1 else None
