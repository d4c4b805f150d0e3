"""Removes the marks of dead writers past the proxy, when their cluster reports their end.

A writer repeats its report; after LAPSE seconds without one it is dead or disconnected. YARN's
resource manager, or Spark's master, says whether its application has ended. If neither is
configured, or neither has the application, the marks stay (`causeway table writes`).
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from conf.errors import CausewayError
from conf.logs.log_fields import extra
from conf.names import ClusterName
from conf.topology import Topology
from metastore.client.applications import has_ended
from metastore.view.locations import ClusterView
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.reported_writes import ReportedWrite

OpenWriter = Callable[[ClusterView], AbstractContextManager[DirectWriter]]
EVERY = 20.0  # seconds
_log = logging.getLogger("causeway.view")


class EndedApplications:
    """One for each process of the view. `writer` opens a DirectWriter for a cluster's view."""

    def __init__(self, shared: Shared, topology: Topology, writer: OpenWriter) -> None:
        self._shared = shared
        self._clusters = topology.clusters
        self._writer = writer

    async def run(self) -> None:
        """Calls `look` every `EVERY` seconds until it is cancelled, if a cluster can be asked."""
        while any(each.resource_managers or each.masters for each in self._clusters.values()):
            await asyncio.sleep(EVERY)
            await self.look()

    async def look(self) -> None:
        """Removes the marks of the silent writers whose application has ended."""
        ended: dict[tuple[ClusterName, str], bool] = {}  # one application may have many writes
        for each in self._shared.writes.silent():
            application = each.view.cluster, each.write.application
            if application not in ended:
                ended[application] = await self._has_ended(*application)
            if ended[application]:
                await self._end(each)

    async def _has_ended(self, name: ClusterName, application: str) -> bool:
        cluster = self._clusters.get(name)
        if cluster is None or not application:
            return False
        return await asyncio.to_thread(has_ended, (cluster,), application)

    async def _end(self, dead: ReportedWrite) -> None:
        tables = ", ".join(map(str, sorted(dead.marked)))
        try:
            with self._writer(dead.view) as writer:
                await writer.end_dead(dead)
        except (CausewayError, OSError) as error:
            _log.warning(
                "marks of the dead writer %s in %s could not be removed: %s",
                *(dead.write.by, tables, error),
            )
        else:
            fields = extra(cluster=dead.view.cluster, application=dead.write.application)
            _log.warning(
                "marks of the dead writer %s in %s removed", dead.write.by, tables, extra=fields
            )
