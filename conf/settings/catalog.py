"""All rows of settings: names, the tables of docs/reference/settings.md, and a JSON schema."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from conf.settings.rows import Setting, all_rows, group_of
from conf.settings.settings import Settings

_USERS = "hadoop.proxyuser.<user>."  # the beginning of names of settings that contain a user's name
_HEAD = "| name | type | default | change | meaning |\n|---|---|---|---|---|"

SECTIONS: Mapping[str, tuple[Setting[Any], ...]] = {
    "clusters": tuple(all_rows(Settings, nested=False)),
    **{each.name: tuple(all_rows(cls)) for each in fields(Settings) if (cls := group_of(each))},
}
ROWS = tuple(row for rows in SECTIONS.values() for row in rows)
NAMES = tuple(row.name for row in ROWS)


def table(section: str) -> str:
    """A section of SECTIONS as a Markdown table."""
    lines = [
        f"| `{row.name}` | {row.kind.name} | {row.shown_default} | "
        f"{row.change.value} | {row.sentence} |"
        for row in SECTIONS[section]
    ]
    return "\n".join((_HEAD, *lines))


def json_schema() -> dict[str, Any]:
    """The JSON schema of a TOML file with settings.

    In TOML `a.b.c` may be written as nested tables, and any part of it may be quoted. So each
    prefix of a name, `a.*` in the definitions, is an object with a property for every possible rest
    of a name: `b`, `b.c`.
    """
    rows = {row.name: row for row in ROWS if not row.name.startswith(_USERS)}
    prefixes = {name[:at] for name in rows for at in range(len(name)) if name[at] == "."}
    root = _object("", rows)
    root["properties"]["hadoop"] = {"type": "object"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Causeway's settings",
        **root,
        "$defs": {
            **{name: _value(row) for name, row in rows.items()},
            **{f"{prefix}.*": _object(f"{prefix}.", rows) for prefix in sorted(prefixes)},
        },
    }


def _value(row: Setting[Any]) -> dict[str, Any]:
    description = f"{row.sentence} Default: {row.shown_default}."
    return {**row.kind.schema, "title": row.name, "description": description}


def _object(prefix: str, names: Iterable[str]) -> dict[str, Any]:
    properties: dict[str, list[dict[str, str]]] = {}
    for name in names:
        parts = name.removeprefix(prefix).split(".") if name.startswith(prefix) else []
        for end in range(1, len(parts) + 1):
            key = ".".join(parts[:end])
            reference = {"$ref": f"#/$defs/{prefix}{key}{'' if end == len(parts) else '.*'}"}
            if reference not in properties.setdefault(key, []):
                properties[key].append(reference)
    return {
        "type": "object",
        "properties": {key: {"anyOf": each} for key, each in sorted(properties.items())},
        "additionalProperties": False,
    }
