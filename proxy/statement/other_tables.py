"""What each cluster lacks of the other tables in a query's databases.

Later queries may read them together with the query's tables, so they count when the router chooses
the cluster that gets a copy.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from conf.catalog.tables import NotLoaded
from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from dialect.statement import NONE
from proxy.statement.metastore_access import Loader, SnapshotAccess
from router.needed_copies import bytes_lacking

MOST = 200  # tables of a database; a larger database says little about one query and is left out

_log = logging.getLogger(__name__)


async def lacking(
    tables: Collection[TableRef],
    snapshot: SnapshotAccess,
    loader: Loader,
    clusters: Iterable[ClusterName],
) -> Mapping[ClusterName, float]:
    """For each cluster the bytes that it lacks of the other tables in the databases of `tables`.
    {} if the metastore does not answer: the query does not fail for that."""
    others: list[TableRef] = []
    try:
        for database in sorted({table.db for table in tables}):
            in_database = await loader.tables_in(database)
            if len(in_database) <= MOST:
                others += (table for table in in_database if table not in tables)
        await loader.load_facts(others, dict.fromkeys(others, (NONE,)))
    except CausewayError as error:
        _log.info("the other tables of a query's databases are not known: %s", error)
        return {}
    return bytes_lacking(_facts(others, snapshot), clusters)


def _facts(tables: Iterable[TableRef], snapshot: SnapshotAccess) -> Iterator[TableFacts]:
    """The facts of the tables that are in memory: with their partitions, if all of these are."""
    for table in tables:
        for selectors in (None, (NONE,)):
            with suppress(NotLoaded):
                facts = snapshot.facts(table, selectors)
                if facts is not None:
                    yield facts
                break
