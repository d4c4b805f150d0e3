"""Names, properties and texts as Spark 3.5 writes them in the answers to SHOW and DESCRIBE."""

import re
from collections.abc import Iterable, Iterator

from conf.catalog.spark_table import SparkTable

# Properties that SHOW TBLPROPERTIES and SHOW CREATE TABLE leave out, if another program set them.
RESERVED = frozenset(
    ("comment", "location", "provider", "owner", "external", "is_managed_location")
)
_REDACTED = "*********(redacted)"
# The defaults of spark.sql.redaction.options.regex and spark.redaction.regex.
_SECRET = re.compile("url|secret|password|token|access[.]?key", re.IGNORECASE | re.ASCII)
_VIEWS = "view."  # begins the properties in which Spark keeps a view


def literal(text: str) -> str:
    """A text as Spark's DDL has it: other characters than quotes are not escaped."""
    return "'" + text.replace("'", "\\'") + "'"


def redacted(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The properties, with those hidden whose name or value looks like a secret."""
    for key, value in pairs:
        secret = _SECRET.search(key) or _SECRET.search(value)
        yield key, _REDACTED if secret else value


def own_properties(table: SparkTable) -> list[str]:
    """The names of the properties that are no part of a view, in Spark's order."""
    return sorted((key for key in table.properties if not key.startswith(_VIEWS)), key=java_order)


def java_order(name: str) -> bytes:
    """The key by which Java sorts texts."""
    return name.encode("utf-16-be", errors="surrogatepass")
