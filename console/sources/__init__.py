"""The sources of facts. Calls are limited in time and size. A source that does not answer raises
SourceDown with its name, instead of its own errors."""

from dataclasses import dataclass, fields
from typing import Any

from console.sources.history_client import HistoryClient
from console.sources.hudi_client import HudiClient
from console.sources.lifecycle_client import LifecycleClient
from console.sources.metastore_client import MetastoreClient
from console.sources.proxies_client import Proxies
from console.sources.sql_client import SqlClient


@dataclass(frozen=True, slots=True)
class Sources:
    """All sources of the console. A source that the settings do not name raises SourceDown with the
    setting that it needs."""

    proxies: Proxies
    history: HistoryClient
    sql: SqlClient
    metastore: MetastoreClient
    lifecycle: LifecycleClient
    hudi: HudiClient

    async def close(self) -> None:
        """Ends the sources' running work."""
        for each in fields(self):
            close: Any = getattr(getattr(self, each.name), "close", None)
            if close is not None:
                await close()
