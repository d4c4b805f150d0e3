"""Table URIs, `catalog:db:table#key=value;key=value` (FA-U1), and the dates in their values."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from conf.names import TableRef
from pipeline.falcon.errors import BadCatalogUri

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,128}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]+)\}")
_WIDTHS = {"YEAR": 4, "MONTH": 2, "DAY": 2, "HOUR": 2, "MINUTE": 2}
_FORMATS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M"}
_MAX_TEXT = 4096


@dataclass(frozen=True, slots=True)
class TableUri:
    """A table and the partition pattern of its instances, keys in the document's order."""

    table: TableRef
    keys: tuple[tuple[str, str], ...]

    @property
    def dated(self) -> tuple[str, ...]:
        """The keys with date variables in their values."""
        return tuple(key for key, value in self.keys if _VARIABLE.search(value))

    @property
    def variables(self) -> frozenset[str]:
        """The date variables in use: YEAR, MONTH, DAY, HOUR, MINUTE."""
        return frozenset(match for _, value in self.keys for match in _VARIABLE.findall(value))

    def partition(self, time: datetime) -> tuple[tuple[str, str], ...]:
        """The partition of the instance at `time`: (key, value) pairs, values in UTC."""
        utc = time.astimezone(UTC)
        return tuple((key, _substitute(value, utc)) for key, value in self.keys)

    def template(self, registry: str) -> str:
        """The storage template, `<registry>/db/table/key=value;key=value`."""
        pairs = ";".join(f"{key}={value}" for key, value in self.keys)
        return f"{registry}/{self.table.db}/{self.table.name}/{pairs}"

    def __str__(self) -> str:
        pairs = ";".join(f"{key}={value}" for key, value in self.keys)
        return f"catalog:{self.table.db}:{self.table.name}#{pairs}"


def parse(text: str) -> TableUri:
    """The URI of a text. Raises BadCatalogUri with the reason."""
    if len(text) > _MAX_TEXT:
        raise BadCatalogUri(f"longer than {_MAX_TEXT} characters")
    place, hash_sign, fragment = text.strip().partition("#")
    scheme, _, rest = place.partition(":")
    if scheme != "catalog":
        raise BadCatalogUri(f"{text!r}: the scheme is not catalog")
    parts = rest.split(":")
    if len(parts) != 2 or "/" in rest:
        raise BadCatalogUri(f"{text!r} is not catalog:database:table#key=value;key=value")
    if not hash_sign or not fragment:
        raise BadCatalogUri(f"{text!r} names no partition after '#'")
    return TableUri(_table(text, *parts), _keys(text, fragment))


def is_numeric(value: str) -> bool:
    """Whether the value pattern of a key always makes a whole number."""
    digits = _VARIABLE.sub("0", value)
    return digits.isascii() and digits.isdigit()


def filter_of(spec: tuple[tuple[str, str], ...]) -> str:
    """`(ds='20130918';region='us')`, the filter of one partition in a template's notation."""
    return "(" + ";".join(f"{key}='{value}'" for key, value in spec) + ")"


def _table(text: str, db: str, name: str) -> TableRef:
    for part in (db, name):
        if not _NAME.fullmatch(part):
            raise BadCatalogUri(f"{text!r}: {part!r} is not a database or table name")
    return TableRef(db.lower(), name.lower())


def _keys(text: str, fragment: str) -> tuple[tuple[str, str], ...]:
    pairs: dict[str, str] = {}
    for pair in fragment.split(";"):
        key, equals, value = pair.strip().partition("=")
        if not equals or not _NAME.fullmatch(key) or not value:
            raise BadCatalogUri(f"{text!r}: {pair!r} is not key=value")
        if any(char in value for char in "/='\""):
            raise BadCatalogUri(f"{text!r}: a value must not hold '/', '=' or a quote")
        for variable in _VARIABLE.findall(value):
            if variable not in _FORMATS:
                raise BadCatalogUri(f"{text!r}: no variable ${{{variable}}}")
        if key.lower() in pairs:
            raise BadCatalogUri(f"{text!r}: key {key!r} is there twice")
        pairs[key.lower()] = value
    return tuple(pairs.items())


def _substitute(pattern: str, utc: datetime) -> str:
    return _VARIABLE.sub(lambda match: _digits(match[1], utc), pattern)


def _digits(variable: str, utc: datetime) -> str:
    return utc.strftime(_FORMATS[variable]).zfill(_WIDTHS[variable])
