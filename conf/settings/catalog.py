"""All settings as rows: their names, the tables of docs/reference/settings.md and a JSON schema."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from conf.settings.rows import Setting, all_rows
from conf.settings.settings import Settings

_GROUPS = ("operating", "transports", "identity", "restrictions", "view_limits")
_USERS = "hadoop.proxyuser.<user>."  # names of settings that hold the name of a user
_HEAD = "| name | type | default | change | meaning |\n|---|---|---|---|---|"


def _sections() -> dict[str, tuple[Setting[Any], ...]]:
    sections = {"clusters": tuple(all_rows(Settings, nested=False))}
    for each in fields(Settings):
        if each.name in _GROUPS:
            sections[each.name] = tuple(all_rows(type(getattr(Settings(), each.name))))
    return sections


SECTIONS: Mapping[str, tuple[Setting[Any], ...]] = _sections()
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

    TOML may write `a.b.c` as nested tables or quote any part of it, so each prefix of a name is an
    object whose properties are all that may follow: single components and dotted ones.
    """
    leaves = {row.name: _leaf(row) for row in ROWS if not row.name.startswith(_USERS)}
    prefixes = {"", *(name[: at + 1] for name in leaves for at in _dots(name))}
    objects = {prefix: _object(prefix, prefixes, leaves) for prefix in sorted(prefixes)}
    objects[""]["properties"]["hadoop"] = {"type": "object"}
    definitions = {f"{prefix}*": each for prefix, each in objects.items() if prefix}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Causeway's settings",
        **objects[""],
        "$defs": {**leaves, **definitions},
    }


def _leaf(row: Setting[Any]) -> dict[str, Any]:
    description = f"{row.sentence} Default: {row.shown_default}."
    return {**row.kind.schema, "title": row.name, "description": description}


def _object(prefix: str, prefixes: set[str], leaves: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, list[str]] = {}
    for name in sorted(leaves):
        if name.startswith(prefix):
            properties.setdefault(name.removeprefix(prefix), []).append(name)
    for longer in sorted(prefixes):
        if longer.startswith(prefix) and longer != prefix:
            properties.setdefault(longer.removeprefix(prefix)[:-1], []).append(f"{longer}*")
    return {
        "type": "object",
        "properties": {key: _reference(each) for key, each in sorted(properties.items())},
        "additionalProperties": False,
    }


def _reference(definitions: list[str]) -> dict[str, Any]:
    references = [{"$ref": f"#/$defs/{each}"} for each in definitions]
    return references[0] if len(references) == 1 else {"anyOf": references}


def _dots(name: str) -> list[int]:
    return [at for at, character in enumerate(name) if character == "."]
