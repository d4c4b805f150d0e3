"""Makes copies of other tables stale whose files a call deletes or moves (D10, D15).

The metastore deletes a folder with everything in it, also files of other tables and partitions. For
these the call is a write by path: their tables are marked before it is sent, until it has ended.
Other tables are never locked while the call's own tables are locked, which could be a deadlock. So
the call is admitted a second time after the other tables have been marked.
"""

import logging
from dataclasses import replace
from types import TracebackType
from typing import Self

from conf.errors import CausewayError
from conf.write_ids import new_id
from metastore.errors import MalformedReply, MetastoreDown
from metastore.view.errors import MessageTooLarge
from metastore.view.inbound.removed_folders import Removed
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.spark_writes.spark_writes import SparkWrite

log = logging.getLogger("causeway.view")
_LOST = (MetastoreDown, MalformedReply, MessageTooLarge)


class Removals:
    """The folders that one call removes. A context manager: leaving it ends the marks."""

    def __init__(self, writer: DirectWriter) -> None:
        self._writer = writer
        self._known = Removed()
        self._writes: list[SparkWrite] = []

    async def may_be_sent(self, removed: Removed) -> bool:
        """Whether the call may be sent now: no other table has to be marked first. Raises
        OutsidePrimary for folders that the view's cluster may not write, FactsUnavailable.
        """
        if removed.folders <= self._known.folders:
            return True
        write = SparkWrite(
            paths=tuple(sorted(removed.folders)), id=new_id(), by="view", removes=removed.objects
        )
        touches = await self._writer.prepare(write)
        self._known = removed
        self._writes.append(write)
        return not touches

    async def mark(self) -> None:
        """Marks the other tables. The caller must hold no lock."""
        await self._writer.report(self._writes[-1])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        ended = error is None or (isinstance(error, CausewayError) and not isinstance(error, _LOST))
        for write in self._writes:
            if not ended:  # the metastore may still delete files
                if self._writer.abandon(write):
                    log.warning(
                        "the end of a call that removes folders is unknown: its marks %s stay until"
                        " they are removed (causeway table writes)",
                        write.id,
                    )
                continue
            try:
                await self._writer.report(replace(write, ended=True))
            except CausewayError as problem:
                # The marks that are left keep the copies stale.
                log.warning("marks of a call that removed folders may be left: %s", problem)
                if isinstance(problem, _LOST) and error is None:
                    raise
