"""What makes copies for statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from conf.names import TableRef
from conf.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class CopyOrder:
    """A copy of the table, or of its partitions that have the (key, value) pairs of any of
    `partitions`: at most `most` bytes, to be kept for `keep` seconds (None: any number, for
    ever), sent at `bandwidth` bytes a second at most (0: any number)."""

    table: TableRef
    partitions: Sequence[Sequence[tuple[str, str]]]
    source: str
    target: str
    most: int | None = None
    keep: float | None = None
    bandwidth: int = 0


class CopySummary(NamedTuple):
    """What a copy did, in one line, and how many bytes it sent."""

    text: str
    sent: int


class Copier(Protocol):
    """Makes secondary copies (`cli.server.copier`)."""

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """Makes the copy. `progress` is called with the bytes sent and those to send. Raises
        CausewayError; ends its work when cancelled."""
        ...
