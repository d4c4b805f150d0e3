"""The record of orphans, folders to which no object refers (docs/guide/metastore-view.md).

It has one JSON object a line. `{"id", "at", "left": [{"what", "cluster", "location"}]}` is written
before a call goes to the metastore, `{"id", "dropped": bool}` after its reply. If the second line
is missing, the call was interrupted, and the object may still exist. A sweep adds `{"id",
"deleted": [location]}`.
"""

import json
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from metastore.view.inbound.ownership import OrphanFolder


class OrphanLog:
    """Appends to the file at `path`; None: nothing is recorded."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def begin(self, orphans: tuple[OrphanFolder, ...]) -> str | None:
        """Records, before a call, the folders that it will leave. Returns the entry's id for `end`;
        None if nothing was recorded."""
        if not orphans or self._path is None:
            return None
        entry = uuid.uuid4().hex
        left = [
            {"what": each.what, "cluster": each.cluster, "location": each.location}
            for each in orphans
        ]
        self._append({"id": entry, "at": int(time.time()), "left": left})
        return entry

    def end(self, entry: str | None, dropped: bool) -> None:
        """Records after the reply whether the objects were dropped."""
        if entry is not None:
            self._append({"id": entry, "dropped": dropped})

    def deleted(self, entry: str, locations: Sequence[str]) -> None:
        """Records that a sweep deleted these locations."""
        self._append({"id": entry, "deleted": list(locations)})

    def _append(self, line: dict[str, object]) -> None:
        assert self._path is not None
        data = (json.dumps(line, separators=(",", ":")) + "\n").encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
