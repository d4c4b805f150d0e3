"""Names, properties and texts as Spark 3.5 writes them in the answers to SHOW and DESCRIBE."""

import re
from collections.abc import Iterable, Iterator

from conf.catalog.spark_table import SparkTable

# Properties that SHOW TBLPROPERTIES and SHOW CREATE TABLE leave out; only other programs set them.
RESERVED = frozenset(
    ("comment", "location", "provider", "owner", "external", "is_managed_location")
)
_REDACTED = "*********(redacted)"
# The defaults of spark.sql.redaction.options.regex and spark.redaction.regex.
_SECRET = re.compile("url|secret|password|token|access[.]?key", re.IGNORECASE | re.ASCII)
_VIEW_PREFIX = "view."  # of the properties in which Spark stores a view


def literal(text: str) -> str:
    """A text as a literal in Spark's DDL, which escapes only quotes."""
    return "'" + text.replace("'", "\\'") + "'"


def redacted(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The properties; a value is hidden if it or its name looks like a secret."""
    for key, value in pairs:
        secret = _SECRET.search(key) or _SECRET.search(value)
        yield key, _REDACTED if secret else value


def own_properties(table: SparkTable) -> list[str]:
    """The names of the properties that are not part of a view, in Spark's order."""
    names = (key for key in table.properties if not key.startswith(_VIEW_PREFIX))
    return sorted(names, key=java_order)


def java_order(name: str) -> bytes:
    """A key for sorting texts in Java's order."""
    return name.encode("utf-16-be", errors="surrogatepass")
