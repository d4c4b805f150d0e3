"""Names that every room uses: clusters, tables and partitions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType
from urllib.parse import unquote

ClusterName = NewType("ClusterName", str)

_PLAIN = re.compile(r"\w+", re.ASCII)

# Characters that Hive percent-escapes in a partition's directory name (FileUtils.charToEscape).
_ESCAPED = frozenset({chr(code) for code in range(1, 32)} | set("\"#%'*/:=?\\\x7f{[]^"))


@dataclass(frozen=True, slots=True, order=True)
class TableRef:
    """A table or view of the metastore. Both names are lower case."""

    db: str
    name: str

    @classmethod
    def parse(cls, text: str, default_db: str = "default") -> "TableRef":
        """Parses `db.table` or `table`, in any case."""
        db, dot, name = text.rpartition(".")
        return cls((db if dot else default_db).lower(), name.lower())

    def __str__(self) -> str:
        return f"{self.db}.{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class PartitionRef:
    """One partition: (key, value) pairs in the table's key order, values as text."""

    table: TableRef
    spec: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.table}@{partition_name(self.spec)}"


def quoted(*parts: str) -> str:
    """A name in Spark's SQL, with each part in backquotes."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def is_plain(name: str) -> bool:
    """Whether Spark writes the name without backquotes."""
    return _PLAIN.fullmatch(name) is not None and not name.isdigit()


def quoted_if_needed(name: str) -> str:
    """A part of a name, in backquotes where Spark writes them."""
    return name if is_plain(name) else quoted(name)


def partition_name(spec: Iterable[tuple[str, str]]) -> str:
    """Hive's name of a partition, `k=v/k2=v2`, percent-escaped as in its directory."""
    return "/".join(f"{_escape(key)}={_escape(value)}" for key, value in spec)


def parse_partition_name(name: str) -> tuple[tuple[str, str], ...]:
    """The (key, value) pairs in a partition's name. Raises ValueError if a part has no `=`."""
    pairs = []
    for part in name.split("/"):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"not a partition name: {name!r}")
        pairs.append((unquote(key).lower(), unquote(value)))
    return tuple(pairs)


def _escape(text: str) -> str:
    if _ESCAPED.isdisjoint(text):
        return text
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)
