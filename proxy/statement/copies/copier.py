"""What makes copies for statements."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from conf.names import TableRef


class CopySummary(NamedTuple):
    """What a copy did, in one line, and how many bytes it sent."""

    text: str
    sent: int


class Copier(Protocol):
    """Makes secondary copies (`cli.server.copier`)."""

    async def __call__(
        self,
        table: TableRef,
        partitions: Sequence[Sequence[tuple[str, str]]],
        source: str,
        target: str,
        *,
        most: int | None = None,
        keep: float | None = None,
    ) -> CopySummary:
        """Copies the table, or its partitions that have the (key, value) pairs of any of
        `partitions`: at most `most` bytes, to be kept for `keep` seconds (None: any number, for
        ever). Raises CausewayError; ends its work when cancelled."""
        ...
