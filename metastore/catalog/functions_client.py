"""Reads the functions that are written in SQL from the metastore, again after a few seconds."""

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic

from conf.catalog.tables import ViewText
from metastore.catalog.sql_functions import sql_function_texts
from metastore.client.async_client import ClientPool
from metastore.client.single_flight import SingleFlight
from metastore.errors import MetastoreDown, MetastoreRefused

MAX_AGE = 10.0  # seconds; the guard refuses statements with a function that was changed since

Texts = Mapping[str, ViewText | None]


class SqlFunctions:
    """The texts of permanent functions. Belongs to one event loop."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool
        self._texts: Texts = {}
        self._read_at = -MAX_AGE
        self._reads: SingleFlight[str, Texts] = SingleFlight(
            lambda _: self._pool.submit(
                lambda client: sql_function_texts(client.get_all_functions())
            )
        )

    def forget(self) -> None:
        """Has the texts read again before their next use, because a function was changed."""
        self._read_at = -MAX_AGE

    async def texts(self) -> Texts:
        """The texts by `db.name`, at most MAX_AGE seconds old. The same object while they are
        equal.

        While the metastore is down, the last known texts: Spark finds no permanent function then.
        """
        if monotonic() - self._read_at >= MAX_AGE:
            with suppress(MetastoreDown, MetastoreRefused):
                texts = await self._reads.ask("")
                self._texts = self._texts if texts == self._texts else texts
            self._read_at = monotonic()
        return self._texts
