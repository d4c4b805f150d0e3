"""Errors of the metastore. Codes CW3xx; those of the view are CW35x."""

from conf.errors import Blame, CausewayError


class MetastoreError(CausewayError):
    """Any failure of a metastore call."""

    code = "CW300"


class MetastoreDown(MetastoreError):
    """No address of the metastore answered in time, and memory has no recent answer."""

    code = "CW301"
    blame = Blame.METASTORE
    sqlstate = "08S01"
    hint = "Check that the Hive Metastore is running and reachable, then try again."


class MetastoreRefused(MetastoreError):
    """The metastore answered with an exception; `kind` is its Thrift name."""

    code = "CW302"
    blame = Blame.METASTORE

    def __init__(self, message: str, kind: str = "MetaException") -> None:
        super().__init__(f"{kind}: {message}" if kind else message)
        self.kind = kind
        self.message = message


class NoSuchObject(MetastoreRefused):
    """The database, table or partition does not exist."""

    code = "CW303"
    blame = Blame.CLIENT
    sqlstate = "42S02"


class AlreadyExists(MetastoreRefused):
    """An object of that name exists."""

    code = "CW304"
    blame = Blame.CLIENT
    sqlstate = "42S01"


class MalformedReply(MetastoreError):
    """Bytes that are not Thrift's binary protocol, or the reply to another call."""

    code = "CW305"
    sqlstate = "08S01"


class UnreadableFacts(MetastoreError):
    """A `causeway.` parameter cannot be read, so the object is not used."""

    code = "CW306"
    hint = "Remove that parameter from the object, then use `causeway table assign`."


class ChangedMeanwhile(MetastoreError):
    """Other clients kept changing the object; nothing was lost or written."""

    code = "CW307"
    sqlstate = "40001"
    hint = "Try again."


class NoDefaultCluster(MetastoreError):
    """hive.default.cluster.name is not set, or names an unknown cluster (DC-S4)."""

    code = "CW310"
    hint = "Set hive.default.cluster.name. Nothing was changed."


class CountMismatch(MetastoreError):
    """The counts after an upgrade or downgrade are wrong (DC-S4)."""

    code = "CW311"
    hint = "Run `causeway metastore verify`, then the command again; it continues where it stopped."


class NotUpgraded(MetastoreError):
    """`verify` found objects without a primary, or facts that contradict each other (DC-S4)."""

    code = "CW312"
    hint = "Run `causeway metastore upgrade`."


class BadTarget(MetastoreError):
    """`causeway table assign` got a request that contradicts the facts."""

    code = "CW313"
