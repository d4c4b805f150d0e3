"""Table URIs, `catalog:db:table#key=value;key=value` (FA-U1), and the dates in their values.

A value that is a variable but no date, `region=${region}`, is free: it stands for every value, so
that an instance is all partitions of its date. `catalog:db:table#*` names a table without
partitions (whole_tables.py): an instance is the whole table, as it is when it is copied.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from conf.names import TableRef
from pipeline.falcon.errors import BadCatalogUri

_NAME = re.compile(r"[-a-zA-Z0-9_]{1,128}")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_FREE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WIDTHS = {"YEAR": 4, "MONTH": 2, "DAY": 2, "HOUR": 2, "MINUTE": 2}
_FORMATS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M"}
_MAX_TEXT = 4096
_WHOLE = "*"


@dataclass(frozen=True, slots=True)
class TableUri:
    """A table and the partition pattern of its instances, keys in the document's order. `free` are
    the names of keys that may have any value. Without keys an instance is the whole table.
    """

    table: TableRef
    keys: tuple[tuple[str, str], ...]
    free: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        """Whether the URI names a whole table, without partitions."""
        return not self.keys

    @property
    def bound(self) -> tuple[tuple[str, str], ...]:
        """The keys that are not free, with their values."""
        return tuple((key, value) for key, value in self.keys if key not in self.free)

    @property
    def dated(self) -> tuple[str, ...]:
        """The keys with date variables in their values."""
        return tuple(key for key, value in self.bound if _VARIABLE.search(value))

    @property
    def variables(self) -> frozenset[str]:
        """The date variables in use: YEAR, MONTH, DAY, HOUR, MINUTE."""
        return frozenset(match for _, value in self.bound for match in _VARIABLE.findall(value))

    def partition(self, time: datetime) -> tuple[tuple[str, str], ...]:
        """The partition of the instance at `time`: (key, value) pairs, values in UTC. With free
        keys it selects several partitions.
        """
        utc = time.astimezone(UTC)
        return tuple((key, _substitute(value, utc)) for key, value in self.bound)

    def template(self, registry: str) -> str:
        """The storage template, `<registry>/db/table/key=value;key=value`."""
        return f"{registry}/{self.table.db}/{self.table.name}/{self._pairs}"

    @property
    def _pairs(self) -> str:
        return ";".join(f"{key}={value}" for key, value in self.keys) or _WHOLE

    def __str__(self) -> str:
        return f"catalog:{self.table.db}:{self.table.name}#{self._pairs}"


def parse(text: str) -> TableUri:
    """The URI of a text. Raises BadCatalogUri with the reason."""
    if len(text) > _MAX_TEXT:
        raise BadCatalogUri(f"longer than {_MAX_TEXT} characters")
    head, hash_sign, fragment = text.strip().partition("#")
    scheme, _, rest = head.partition(":")
    if scheme != "catalog":
        raise BadCatalogUri(f"{text!r}: the scheme is not catalog")
    parts = rest.split(":")
    if len(parts) != 2 or "/" in rest:
        raise BadCatalogUri(f"{text!r} is not catalog:database:table#key=value;key=value")
    if not hash_sign or not fragment:
        raise BadCatalogUri(f"{text!r} names no partition after '#'")
    keys = () if fragment == _WHOLE else _keys(text, fragment)
    return TableUri(_table(text, *parts), keys, _free(text, keys))


def is_numeric(value: str) -> bool:
    """Whether the value pattern of a key always makes a whole number."""
    digits = _VARIABLE.sub("0", value)
    return digits.isascii() and digits.isdigit()


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
        if key.lower() in pairs:
            raise BadCatalogUri(f"{text!r}: key {key!r} is there twice")
        pairs[key.lower()] = value
    return tuple(pairs.items())


def _free(text: str, keys: tuple[tuple[str, str], ...]) -> frozenset[str]:
    """The keys whose whole value is one variable that is no date. Raises BadCatalogUri for any
    other use of such a variable, which would have to be guessed.
    """
    found: dict[str, str] = {}
    for key, value in keys:
        for name in set(_VARIABLE.findall(value)) - _FORMATS.keys():
            variable = f"${{{name}}}"
            if name.upper() in _FORMATS:
                raise BadCatalogUri(f"{text!r}: {variable} is written ${{{name.upper()}}}")
            if not _FREE.fullmatch(value):
                reason = f"no variable {variable}; a variable that is no date is all of a value"
                raise BadCatalogUri(f"{text!r}: {reason}")
            if name in found.values():
                raise BadCatalogUri(f"{text!r}: {variable} cannot be the value of two keys")
            found[key] = name
    return frozenset(found)


def _substitute(pattern: str, utc: datetime) -> str:
    return _VARIABLE.sub(lambda match: _digits(match[1], utc), pattern)


def _digits(variable: str, utc: datetime) -> str:
    return utc.strftime(_FORMATS[variable]).zfill(_WIDTHS[variable])
