"""The functions written in SQL, read from the metastore every few seconds."""

from collections.abc import Mapping
from contextlib import suppress
from time import monotonic

from conf.catalog.tables import ViewText
from metastore.catalog.sql_functions import sql_function_texts
from metastore.client.async_client import ClientPool
from metastore.client.single_flight import SingleFlight
from metastore.errors import MetastoreDown, MetastoreRefused

MAX_AGE = 10.0  # seconds; the guard refuses what a newer function reads

Texts = Mapping[str, ViewText | None]


class SqlFunctions:
    """Belongs to one event loop."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool
        self._texts: Texts = {}
        self._read = -MAX_AGE
        self._reads: SingleFlight[str, Texts] = SingleFlight(
            lambda _: self._pool.submit(
                lambda client: sql_function_texts(client.get_all_functions())
            )
        )

    def forget(self) -> None:
        """A function was changed: the texts are read again before they are used."""
        self._read = -MAX_AGE

    async def texts(self) -> Texts:
        """The texts by `db.name`, at most MAX_AGE seconds old; the same object while
        they are equal.

        While the metastore is down, the last ones: Spark finds no permanent function then.
        """
        if monotonic() - self._read >= MAX_AGE:
            with suppress(MetastoreDown, MetastoreRefused):
                texts = await self._reads.ask("")
                self._texts = self._texts if texts == self._texts else texts
            self._read = monotonic()
        return self._texts
