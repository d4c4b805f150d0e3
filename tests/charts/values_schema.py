"""The JSON schema of the chart's values, made of values.yaml and of Causeway's settings."""

from typing import Any

import yaml

from conf.settings.catalog import ROWS
from tests.charts.rendering import CHART

# A ConfigMap is no place for a password: each of these can be a file of a Secret, or is not needed.
PASSWORDS = {
    "hive.server2.authentication.ldap.bindpw",  # proxy.ldap.bindpw.file
    "hive.server2.keystore.password",  # proxy.keystore.password.file
    "hive.metastore.truststore.password",  # a truststore in PEM has none
}
_USER = "hadoop.proxyuser.<user>."
_TYPES = {bool: "boolean", int: "integer", str: "string", list: "array"}


def schema() -> dict[str, Any]:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    found = _of(values)
    found["properties"]["settings"] = _settings()
    return {"$schema": "http://json-schema.org/draft-07/schema#", **found}


def _of(value: Any) -> dict[str, Any]:
    """What may stand in the place of a default; an empty table may have any keys."""
    if not isinstance(value, dict):
        return {"type": _TYPES[type(value)]}
    if not value:
        return {"type": "object"}
    return {
        "type": "object",
        "properties": {name: _of(each) for name, each in value.items()} | _global(value),
        "additionalProperties": False,
    }


def _global(value: dict[str, Any]) -> dict[str, Any]:
    """Helm gives every chart `global`; resources may have any limits."""
    if "image" in value:
        return {"global": {"type": "object"}}
    return {"resources": {"type": "object"}} if "resources" in value else {}


def _settings() -> dict[str, Any]:
    names = {
        row.name: row.kind.schema
        for row in ROWS
        if row.name not in PASSWORDS and not row.name.startswith(_USER)
    }
    return {
        "type": "object",
        "properties": names | {"hive.cluster.properties": {"type": "object"}},
        "patternProperties": {
            r"^hadoop\.proxyuser\..+\.(hosts|groups|users)$": {"type": ["string", "array"]}
        },
        "additionalProperties": False,
    }
