"""The table ids under which a table's partitions were copied (`causeway.bases`), for people.

A write of the whole table makes the copies of its partitions stale without changing the partitions.
So the table keeps these ids, each with the id that followed: it shows the first write that a copy
misses. No decision reads them.
"""

import json

BASES_LIMIT = 32  # ids in one table; older ones are removed


def read_bases(text: str) -> dict[str, str | None]:
    """The ids in `causeway.bases`, each with the id that followed, or None for the present one.
    Empty if the text cannot be read."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def with_base(text: str, write: str) -> str:
    """The text of `causeway.bases` with the table's present id, under which partitions may be
    copied now."""
    bases = read_bases(text)
    if write in bases:
        return text
    newest = [*bases.items(), (write, None)][-BASES_LIMIT:]
    return json.dumps(dict(newest), separators=(",", ":"))


def bases_after(text: str, write: str, next_id: str) -> str:
    """The text of `causeway.bases` after the table's id `write` has become `next_id`."""
    bases = read_bases(text)
    if bases.get(write, "") is not None:
        return text
    return json.dumps({**bases, write: next_id}, separators=(",", ":"))
