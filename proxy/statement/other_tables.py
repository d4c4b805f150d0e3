"""What clusters lack of the tables that later queries may read together with those of a query."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from conf.catalog.tables import NotLoaded
from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from dialect.statement import NONE
from proxy.statement.metastore_access import Loader, Snapshot
from router.cures import bytes_lacking

MOST = 200  # tables of a database that are looked up; a larger one says little about a query

_log = logging.getLogger(__name__)


async def lacking(
    tables: Collection[TableRef],
    snapshot: Snapshot,
    loader: Loader,
    clusters: Iterable[ClusterName],
) -> Mapping[ClusterName, float]:
    """How many bytes each cluster lacks of the other tables in the databases of these ones. Nothing
    where the metastore does not answer: a query does not fail for it."""
    others: list[TableRef] = []
    try:
        for database in sorted({table.db for table in tables}):
            found = await loader.tables_in(database)
            if len(found) <= MOST:
                others += (table for table in found if table not in tables)
        await loader.load_facts(others, dict.fromkeys(others, (NONE,)))
    except CausewayError as error:
        _log.info("the other tables of a query's databases are not known: %s", error)
        return {}
    return bytes_lacking(_facts(others, snapshot), clusters)


def _facts(tables: Iterable[TableRef], snapshot: Snapshot) -> Iterator[TableFacts]:
    """With partitions where all of them are in memory. What was forgotten meanwhile is left out."""
    for table in tables:
        for selectors in (None, (NONE,)):
            with suppress(NotLoaded):
                facts = snapshot.facts(table, selectors)
                if facts is not None:
                    yield facts
                break
