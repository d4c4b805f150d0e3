"""What a copy of directories did."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathResult:
    """`text` says it in words. `files` and `bytes` are those of the directories that were replaced,
    `sent` the bytes that went over the network."""

    text: str
    files: int = 0
    bytes: int = 0
    sent: int = 0
