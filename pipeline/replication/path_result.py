"""The result of a replication of directories."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathResult:
    """`text` is a summary for people. `files` and `bytes` are the size of the directories that were
    replaced, `sent` are the bytes that went over the network.
    """

    text: str
    files: int = 0
    bytes: int = 0
    sent: int = 0
