"""docs/reference/settings.md and the JSON schema are made of the rows."""

import os
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from conf.settings import catalog, fetching, operating, settings, view_limits
from conf.settings.rows import ChangeMode, Setting
from conf.settings.security import (
    access,
    authentication,
    metastore_login,
    restrictions,
    transports,
    view_access,
    view_tls,
)
from conf.settings.settings import Settings
from tests.conf.settings.reading import settings_from

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"
TABLE = re.compile(r"(<!-- settings: (\w+) -->\n)(.*?)(<!-- end -->)", re.S)
MODULES = (
    access,
    authentication,
    fetching,
    metastore_login,
    operating,
    restrictions,
    settings,
    transports,
    view_access,
    view_limits,
    view_tls,
)


def test_the_page_has_the_tables_of_the_rows() -> None:
    text = PAGE.read_text()
    made = TABLE.sub(lambda match: f"{match[1]}\n{catalog.table(match[2])}\n\n{match[4]}", text)
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        PAGE.write_text(made)
    assert made == PAGE.read_text()
    assert [match[2] for match in TABLE.finditer(text)] == list(catalog.SECTIONS)


def test_every_row_belongs_to_a_section() -> None:
    found = [row for module in MODULES for row in vars(module).values() if type(row) is Setting]
    assert len(found) > 20
    assert {row.name for row in found} <= set(catalog.NAMES)
    assert len(set(catalog.NAMES)) == len(catalog.NAMES)


def test_rows_are_complete() -> None:
    for row in catalog.ROWS:
        assert row.name
        assert row.sentence.endswith("."), row.name
        assert row.change in ChangeMode
        assert row.kind.schema


def test_defaults_of_the_rows_are_those_of_settings_without_a_file() -> None:
    assert settings_from({}, "nothing") == Settings()


def test_writing_the_default_of_a_setting_changes_nothing() -> None:
    for row in catalog.ROWS:
        if row.default and row.name != "proxy.limit.connections.per.ipaddress":
            assert settings_from({row.name: row.default}, "x") == Settings(), row.name


def _problems(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> list[str]:
    """What the keywords that the schema uses find wrong with a value."""
    if "$ref" in schema:
        return _problems(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        found = [_problems(value, each, root) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    types = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
    allowed = schema.get("type")
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if allowed and not any(type(value) is types[each] for each in allowed):
        return [f"{value!r} is not of {allowed}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{value!r} is not one of {schema['enum']}"]
    problems = []
    if isinstance(value, dict) and "properties" in schema:
        for key, each in value.items():
            if key in schema["properties"]:
                problems += _problems(each, schema["properties"][key], root)
            elif schema.get("additionalProperties") is False:
                problems.append(f"no {key!r}")
    return problems


def _checked(text: str) -> list[str]:
    schema = catalog.json_schema()
    return _problems(tomllib.loads(text), schema, schema)


@pytest.mark.parametrize("file", ["docs/reference/settings.md", "conf/containers/causeway.toml"])
def test_the_schema_accepts_the_examples(file: str) -> None:
    text = (PAGE.parents[2] / file).read_text()
    examples = re.findall(r"```toml\n(.*?)```", text, re.S) or [text]
    assert [problem for each in examples for problem in _checked(each)] == []


@pytest.mark.parametrize(
    "text",
    [
        '"hive.server2.authentication" = "LDAP"',
        'hive.server2."authentication.ldap.url" = "ldap://x"',
        '[hive.server2.authentication.ldap]\nurl = "ldap://x"',
        'hive.server2.limit.connections.per."user.ipaddress" = 20',
        '[hadoop.proxyuser.hue]\nhosts = ["a"]',
        'snapshot.ttl = "5m"\nsnapshot.limit = 7',
    ],
)
def test_the_schema_accepts_every_way_to_write_a_name(text: str) -> None:
    assert _checked(text) == []


@pytest.mark.parametrize(
    "text", ["snapshot.tll = 5", "router.coverage = 'all'", "hive.server2.use.SSL = 7", "proxy = 1"]
)
def test_the_schema_refuses_wrong_names_and_values(text: str) -> None:
    assert _checked(text) != []


def test_a_field_of_one_setting_has_that_settings_default() -> None:
    for each in fields(operating.Operating):
        rows = each.metadata.get("rows", ())
        if len(rows) == 1 and rows[0].default and each.name != "zookeeper":
            assert getattr(operating.Operating(), each.name) == rows[0].default_value
