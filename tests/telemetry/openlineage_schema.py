"""Checks events of OpenLineage by the classes that its client generates from the specification.

The specification's own JSON Schema is in no package. The classes have the same objects, fields and
types; the text of an event is compared with them, as a server would read it.
"""

import importlib
import pkgutil
import types
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit
from uuid import UUID

import attr
from openlineage.client import generated
from openlineage.client.event_v2 import RunEvent

_FORMATS = {
    "eventTime": datetime.fromisoformat,
    "nominalStartTime": datetime.fromisoformat,
    "runId": UUID,
}
_URIS = ("producer", "schemaURL", "_producer", "_schemaURL")


def problems(event: dict[str, Any]) -> list[str]:
    """The parts of a run's event that differ from the specification."""
    return [*_of(event, RunEvent, "event")]


def _classes() -> Iterator[tuple[str, type]]:
    """The generated classes by the URLs of their schemas."""
    for each in pkgutil.iter_modules(generated.__path__):
        module = importlib.import_module(f"{generated.__name__}.{each.name}")
        for found in vars(module).values():
            if isinstance(found, type) and attr.has(found) and hasattr(found, "_get_schema"):
                yield found._get_schema(), found


_BY_URL = dict(_classes())


def _of(value: Any, kind: Any, where: str) -> Iterator[str]:
    """The problems of a value of this type, by its annotation."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        found = [[*_of(value, each, where)] for each in inner if each is not type(None)]
        if value is not None or type(None) not in inner:
            yield from min(found, key=len)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{where} is no list"
            return
        for number, each in enumerate(value):
            yield from _of(each, inner[0], f"{where}[{number}]")
    elif origin is dict:
        for name, facet in value.items():
            named = _BY_URL.get(facet.get("_schemaURL", ""))
            if named is None or not issubclass(named, inner[1]):
                yield f"{where}.{name} is no {inner[1].__name__} of the specification"
            else:
                yield from _of(facet, named, f"{where}.{name}")
    elif attr.has(kind):
        yield from _of_object(value, kind, where)
    elif issubclass(kind, Enum):
        if value not in {each.value for each in kind}:
            yield f"{where} is {value!r}"
    elif not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        yield f"{where} is no {kind.__name__}"


def _of_object(value: Any, kind: Any, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    fields, hints = attr.fields_dict(kind), get_type_hints(kind)
    for name in sorted(value.keys() - fields.keys()):
        yield f"{where}.{name} is unknown"
    for name, field in fields.items():
        if name in value:
            yield from _of(value[name], hints[name], f"{where}.{name}")
            yield from _of_format(value[name], name, where)
        elif field.default is attr.NOTHING or name in _URIS:
            yield f"{where}.{name} is missing"


def _of_format(value: Any, name: str, where: str) -> Iterator[str]:
    try:
        if name in _FORMATS:
            _FORMATS[name](value)
        if name in _URIS and not urlsplit(value).scheme:
            yield f"{where}.{name} is no URI"
    except (ValueError, TypeError):
        yield f"{where}.{name} is {value!r}"
