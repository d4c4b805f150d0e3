"""Errors of planning, reading and pulling changes of Hudi tables (CW8xx)."""

from typing import ClassVar

from conf.errors import CausewayError


class IncrementalError(CausewayError):
    """The family of errors about Hudi tables."""

    code: ClassVar[str] = "CW800"


class NotAHudiTable(IncrementalError):
    """No `.hoodie/hoodie.properties` at the path or above it."""

    code = "CW801"
    sqlstate = "42P01"


class UnsupportedTable(IncrementalError):
    """A table with a format or feature that is not supported."""

    code = "CW802"
    sqlstate = "0A000"


class DamagedTimeline(IncrementalError):
    """A file of the timeline that cannot be read."""

    code = "CW803"
    sqlstate = "XX001"


class HollowCommit(IncrementalError):
    """A commit that was requested before completed ones still runs, and the job selects to fail."""

    code = "CW804"
    sqlstate = "55006"
    hint = "Wait for it, or set hoodie.read.timeline.holes.resolution.policy=BLOCK."


class BadRange(IncrementalError):
    """A start, an end or a number of commits that is not valid."""

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
    """A merge by a key column that the rows do not have."""

    code = "CW808"
    sqlstate = "42703"


class TargetMismatch(IncrementalError):
    """The target was made by pulls from another source, in another mode, or by no pull."""

    code = "CW809"
    sqlstate = "55000"


class PullRunning(IncrementalError):
    """Another pull or replication into the same target is running."""

    code = "CW810"
    sqlstate = "55006"


class OutOfStep(IncrementalError):
    """A replica that cannot be updated: it lacks commits that the source has archived, or has
    commits that the source lacks.
    """

    code = "CW811"
    sqlstate = "55000"
    hint = "Replicate into an empty folder instead."


class Undone(IncrementalError):
    """The source has undone commits whose rows were appended before."""

    code = "CW812"
    sqlstate = "55000"
    hint = "Pull into an empty target instead, or delete the rows of those commits."


class LostFile(IncrementalError):
    """A data file of a commit is missing, and Hudi's cleaner has not deleted it."""

    code = "CW813"
    sqlstate = "58030"
    hint = "Restore the file or the table, or pull into an empty target from a later --since on."
