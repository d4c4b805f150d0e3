"""Errors of copying, replication and retention (CW6xx). docs/reference/errors.md lists them."""

from typing import ClassVar

from conf.errors import Blame, CausewayError


class CopyError(CausewayError):
    """A copy, replication or eviction failed. Readers see no partial result."""

    code = "CW600"


class NotCopyable(CopyError):
    """The request does not fit the table: a view, its own primary, no such partition."""

    code = "CW601"
    sqlstate: ClassVar[str] = "42000"


class BadFilter(CopyError):
    """A partition filter that cannot be read."""

    code = "CW602"
    sqlstate: ClassVar[str] = "42000"
    hint = "Write e.g. ds >= '2024-01-01' and region in ('eu', 'us')."


class WriteOpen(CopyError):
    """A write to the source stayed open for longer than the copy may wait (D10)."""

    code = "CW603"
    hint = "Run it again when the write has ended."


class SourceKeepsChanging(CopyError):
    """The source changed during each of the allowed attempts."""

    code = "CW604"
    hint = "Run it again when no writes run; files that were sent are not sent again."


class FilesFailed(CopyError):
    """Some files could not be copied, also by retries."""

    code = "CW605"
    hint = "Files that were copied are kept; a rerun copies the others."


class VerifyFailed(CopyError):
    """The copied files differ from those of the source. They were not published."""

    code = "CW606"


class PublishFailed(CopyError):
    """The metastore refused the change, retries included."""

    code = "CW607"


class UnsafeSchemaChange(CopyError):
    """Source and target disagree in a way that could make old data unreadable (FA-R3)."""

    code = "CW608"
    hint = "Change the target table by hand, or replicate into a new one."


class BadEndpoints(CopyError):
    """The list of Hadoop configurations cannot be read (FA-R10)."""

    code = "CW609"
    hint = "Write AUTHORITY=CONF_DIR,...,*=CONF_DIR."


class SparkFailed(CopyError):
    """Spark could not be started or lost its job."""

    code = "CW610"


class SparkLost(SparkFailed):
    """The JVM of Spark ended during the work. The next use of Spark starts another."""


class AnotherCopyRuns(CopyError):
    """A living run already copies this table to this cluster."""

    code = "CW611"
    hint = "Wait for it, or run `causeway copy sweep` once it is dead."


class BadRetention(CopyError):
    """A retention policy cannot be applied to this table."""

    code = "CW612"
    sqlstate: ClassVar[str] = "42000"


class JarMissing(CopyError):
    """causeway-guard.jar, the Java of Causeway, is missing or of an older version."""

    code = "CW613"
    hint = "`make guard` builds it in a checkout, with a JDK and Maven; a wheel contains it."


class CopyTooLarge(CopyError):
    """More bytes would have to be copied than the caller allowed."""

    code = "CW614"
    sqlstate = "54000"
    hint = "Read fewer partitions, or allow more bytes."


class KerberosFailed(CopyError):
    """A file system of Hadoop refused a log-in by Kerberos, or the KDC gave no ticket for it."""

    code = "CW615"
    blame = Blame.DIRECTORY
    hint = "docs/guide/kerberos.md says what the settings of Hadoop and Causeway need."


class LifecycleError(CausewayError):
    """The family of errors about submitted entities and their instances."""

    code = "CW720"


class LeaseLost(LifecycleError):
    """This server may no longer run the instance: killed, or another server took it over."""

    code = "CW727"


class ActionFailed(LifecycleError):
    """An instance's work failed. `final`: another attempt would fail in the same way."""

    code = "CW728"

    def __init__(self, reason: str, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class InputsGone(ActionFailed):
    """The data of an instance was dropped after its work had begun; it may appear again."""


class FilesNotEnough(Exception):
    """A copy of the table's files would not be the table. The text follows "the directory .." in
    the message: "lacks ..", "has ..".
    """
