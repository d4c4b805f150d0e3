"""The record of folders that no object names any more (docs/guide/metastore-view.md).

JSON, one a line. `{"id", "at", "left": [{"what", "cluster", "location"}]}` is written before the
call goes to the metastore, `{"id", "dropped": bool}` after its reply. An id without the second
line was cut short: look whether the object is still there. A cleaning adds `{"id", "deleted":
[location]}`.
"""

import json
import os
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from metastore.view.inbound.ownership import Leftover


class LeftoverLog:
    """Appends to one file; None keeps no record."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def intend(self, leftovers: tuple[Leftover, ...]) -> str | None:
        """Before the call: what it will leave. The ticket is for `settle`."""
        if not leftovers or self._path is None:
            return None
        ticket = uuid.uuid4().hex
        left = [
            {"what": each.what, "cluster": each.cluster, "location": each.location}
            for each in leftovers
        ]
        self._append({"id": ticket, "at": int(time.time()), "left": left})
        return ticket

    def settle(self, ticket: str | None, dropped: bool) -> None:
        """After the reply: whether the objects are gone."""
        if ticket is not None:
            self._append({"id": ticket, "dropped": dropped})

    def deleted(self, ticket: str, locations: Sequence[str]) -> None:
        """By a cleaning: these are gone now."""
        self._append({"id": ticket, "deleted": list(locations)})

    def _append(self, line: dict[str, object]) -> None:
        assert self._path is not None
        data = (json.dumps(line, separators=(",", ":")) + "\n").encode()
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
