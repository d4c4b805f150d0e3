"""The sizes of tables and partitions, as statistics in their parameters have them."""

from collections.abc import Mapping

_SIZES = ("spark.sql.statistics.totalSize", "totalSize")


def known_size(parameters: Mapping[str, str]) -> int | None:
    """Bytes by the last ANALYZE or write that noted them; None if they are not known."""
    for name in _SIZES:
        text = parameters.get(name, "")
        if text.isdecimal() and len(text) < 19:
            return int(text)
    return None
