"""The sizes of tables and partitions, read from the statistics in their parameters."""

from collections.abc import Mapping

_SIZES = ("spark.sql.statistics.totalSize", "totalSize")


def known_size(parameters: Mapping[str, str]) -> int | None:
    """The bytes that the last ANALYZE or write recorded; None if none did."""
    for name in _SIZES:
        text = parameters.get(name, "")
        if text.isdecimal() and len(text) < 19:
            return int(text)
    return None
