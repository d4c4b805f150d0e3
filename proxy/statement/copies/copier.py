"""The interface of the copier that makes secondary copies for statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from conf.names import TableRef
from conf.progress import Progress, no_progress


@dataclass(frozen=True, slots=True)
class CopyOrder:
    """A copy to be made of a table, or of the partitions that match any item of `partitions`: each
    item has the (key, value) pairs of a PARTITION clause.

    At most `most` bytes are sent (None: any number), at most `bandwidth` of them in a second
    (0: any number). The copy is kept for `keep` seconds (None: for ever).
    """

    table: TableRef
    partitions: Sequence[Sequence[tuple[str, str]]]
    source: str
    target: str
    most: int | None = None
    keep: float | None = None
    bandwidth: int = 0


class CopySummary(NamedTuple):
    """The result of a copy: one line for the client, and the number of bytes sent."""

    text: str
    sent: int


class Copier(Protocol):
    """Makes secondary copies. Implemented by `cli.server.copier.CopierByChild`."""

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """Makes the copy. `progress` is called with the number of bytes sent, and of all bytes.
        Raises a CausewayError. When cancelled, it ends its work before it returns."""
        ...
