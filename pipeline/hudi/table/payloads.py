"""How a merge-on-read table merges the rows of its logs, as options of hudi-rs.

Tables before version 9 name a Java class, the payload. Version 9 has properties instead, and Hudi's
upgrade translates known payloads into them. Here they are translated for hudi-rs in the same way.
PartialUpdateAvroPayload is not known: it takes values of late rows, and no property does that.
"""

from collections.abc import Mapping

from pipeline.hudi.errors import UnsupportedTable
from pipeline.hudi.table.table import HudiTable

_PAYLOAD = "hoodie.compaction.payload.class"
_MODE = "hoodie.record.merge.mode"
_BY_COMMIT = {_MODE: "COMMIT_TIME_ORDERING"}
_MODELS = "org.apache.hudi.common.model"
_KNOWN: Mapping[str, Mapping[str, str]] = {
    # hudi-rs supports these three itself.
    f"{_MODELS}.DefaultHoodieRecordPayload": {},
    f"{_MODELS}.EventTimeAvroPayload": {},
    f"{_MODELS}.OverwriteWithLatestAvroPayload": {},
    f"{_MODELS}.OverwriteNonDefaultsWithLatestAvroPayload": {
        **_BY_COMMIT,
        "hoodie.table.partial.update.mode": "IGNORE_DEFAULTS",
    },
    f"{_MODELS}.AWSDmsAvroPayload": {
        **_BY_COMMIT,
        "hoodie.record.merge.property.hoodie.payload.delete.field": "Op",
        "hoodie.record.merge.property.hoodie.payload.delete.marker": "D",
    },
}


def merge_options(table: HudiTable) -> Mapping[str, str]:
    """The options with which hudi-rs merges the rows of a table. Raises UnsupportedTable, with the
    name, for a payload or merger that is not known.
    """
    payload = table.properties.get(_PAYLOAD, "")
    if payload in _KNOWN:
        return _KNOWN[payload] if table.version < 9 else {}
    mode = table.properties.get(_MODE, "")
    if payload or mode == "CUSTOM":
        raise UnsupportedTable(f"{table.base} merges rows by {payload or 'a class of its own'}.")
    return {}
