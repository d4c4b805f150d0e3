"""Where facts come from. Each source is bounded in time and size, and raises SourceDown, which says
which source does not answer, instead of any other error."""

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
    """All sources of the console. One that the settings do not name is there, too: it raises
    SourceDown with the setting that it needs."""

    proxies: Proxies
    history: HistoryClient
    sql: SqlClient
    metastore: MetastoreClient
    lifecycle: LifecycleClient
    hudi: HudiClient

    async def close(self) -> None:
        """Ends what the sources still do."""
        for each in fields(self):
            close: Any = getattr(getattr(self, each.name), "close", None)
            if close is not None:
                await close()
