"""What can go wrong while changes of a Hudi table are planned, read or pulled (CW8xx)."""

from typing import ClassVar

from conf.errors import CausewayError


class IncrementalError(CausewayError):
    """The family of this package."""

    code: ClassVar[str] = "CW800"


class NotAHudiTable(IncrementalError):
    """No `.hoodie/hoodie.properties` at the path or above it."""

    code = "CW801"
    sqlstate = "42P01"


class UnsupportedTable(IncrementalError):
    """A table that no reader here is known to read rightly."""

    code = "CW802"
    sqlstate = "0A000"


class DamagedTimeline(IncrementalError):
    """A file of the timeline that cannot be understood."""

    code = "CW803"
    sqlstate = "XX001"


class HollowCommit(IncrementalError):
    """A commit still runs behind finished ones, and the reader asked to fail then."""

    code = "CW804"
    sqlstate = "55006"
    hint = "Wait for it, or set hoodie.read.timeline.holes.resolution.policy=BLOCK."


class BadRange(IncrementalError):
    """A start, an end or a count of commits that means nothing."""

    code = "CW805"
    sqlstate = "22023"


class MissingPath(IncrementalError):
    """An input path that does not exist."""

    code = "CW806"
    sqlstate = "42704"


class StorageFault(IncrementalError):
    """The file system failed."""

    code = "CW807"
    sqlstate = "58030"


class MissingKey(IncrementalError):
    """A merge without a key, or with one that the rows lack."""

    code = "CW808"
    sqlstate = "42703"


class TargetMismatch(IncrementalError):
    """The target was not made by pulls from this source, or in another mode."""

    code = "CW809"
    sqlstate = "55000"


class PullRunning(IncrementalError):
    """Another pull into the same target is under way."""

    code = "CW810"
    sqlstate = "55006"


class OutOfStep(IncrementalError):
    """A replica that cannot be brought up to date: its next commits are gone, or are others."""

    code = "CW811"
    sqlstate = "55000"
    hint = "Replicate into an empty folder instead."


class Undone(IncrementalError):
    """The source has undone commits whose rows were appended already."""

    code = "CW812"
    sqlstate = "55000"
    hint = "Pull into an empty target instead, or delete the rows of those commits."
