"""The properties of a Hudi table.

Hudi replaces `hoodie.properties` in four steps: it writes a backup, deletes the properties, writes
the new ones, and deletes the backup. So a reader may find an incomplete file, or neither of them.
The checksum tells which file is complete. `TableProperties` has the same rules in Java.
"""

import re
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress

from pipeline.hudi.errors import DamagedTimeline, MissingPath, NotAHudiTable
from pipeline.hudi.table.storage import HudiStorage

HOODIE = ".hoodie"
PROPERTIES = ("hoodie.properties", "hoodie.properties.backup")
_TRIED = (*PROPERTIES, PROPERTIES[0])
_ATTEMPTS = 5
_PAUSE = 1.0  # seconds
_FIRST_WITH_CHECKSUM = 4  # version of a table
_ESCAPE = re.compile(r"\\(.)")


def read_properties(
    base: str, storage: HudiStorage, sleep: Callable[[float], None] = time.sleep
) -> bytes:
    """The content of the complete properties, or of their backup. Waits a few seconds while both
    are incomplete. Raises NotAHudiTable, DamagedTimeline, StorageFault.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            sleep(_PAUSE)
        exists = False
        for name in _TRIED:
            with suppress(MissingPath):
                content = storage.read(f"{base}/{HOODIE}/{name}")
                if _is_complete(parse_properties(content)):
                    return content
                exists = True
        if not exists:
            raise NotAHudiTable(f"{base} is not a Hudi table.")
    raise DamagedTimeline(
        f"{base}/{HOODIE}/{PROPERTIES[0]} is incomplete, and there is no complete backup of it."
    )


def parse_properties(content: bytes) -> dict[str, str]:
    """A Java properties file as Hudi writes it: `key=value` lines, backslash escapes."""
    properties = {}
    for line in content.decode("utf-8", "replace").splitlines():
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        key, _, value = line.partition("=")
        properties[_ESCAPE.sub(r"\1", key).strip()] = _ESCAPE.sub(r"\1", value).strip()
    return properties


def properties_checksum(properties: Mapping[str, str]) -> int:
    """The checksum that Hudi writes: CRC-32 of the names of database and table."""
    database = properties.get("hoodie.database.name", "")
    return zlib.crc32(f"{database}.{properties.get('hoodie.table.name', '')}".encode())


def _is_complete(properties: Mapping[str, str]) -> bool:
    checksum = properties.get("hoodie.table.checksum")
    if checksum is not None:
        return checksum == str(properties_checksum(properties))
    version = properties.get("hoodie.table.version", "0") or "0"
    is_old = version.isdigit() and int(version) < _FIRST_WITH_CHECKSUM
    return is_old and bool(properties.get("hoodie.table.name"))
