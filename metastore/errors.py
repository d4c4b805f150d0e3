"""What may go wrong with the metastore. Codes CW3xx; the view's are CW35x."""

from conf.errors import Blame, CausewayError


class MetastoreError(CausewayError):
    """Any failure of a metastore call."""

    code = "CW300"


class MetastoreDown(MetastoreError):
    """No address of the metastore answered in time, and memory has no answer young enough."""

    code = "CW301"
    blame = Blame.METASTORE
    sqlstate = "08S01"
    hint = "Check that the Hive Metastore is running and reachable, then try again."


class MetastoreRefused(MetastoreError):
    """The metastore answered with an exception; `kind` is its declared name."""

    code = "CW302"
    blame = Blame.METASTORE

    def __init__(self, message: str, kind: str = "MetaException") -> None:
        super().__init__(f"{kind}: {message}" if kind else message)
        self.kind = kind
        self.message = message


class NoSuchObject(MetastoreRefused):
    """The named database, table or partition is not there."""

    code = "CW303"
    blame = Blame.CLIENT
    sqlstate = "42S02"


class AlreadyExists(MetastoreRefused):
    """An object of that name is there."""

    code = "CW304"
    blame = Blame.CLIENT
    sqlstate = "42S01"


class WireError(MetastoreError):
    """Bytes that are not the thrift binary protocol, or not the reply that was asked for."""

    code = "CW305"
    sqlstate = "08S01"


class UnreadableFacts(MetastoreError):
    """A `causeway.` parameter that cannot be read; the object must not be used."""

    code = "CW306"
    hint = "Take that parameter off the object, then use `causeway table assign`."


class ChangedMeanwhile(MetastoreError):
    """Another client kept changing the object; nothing was lost, nothing was written."""

    code = "CW307"
    sqlstate = "40001"
    hint = "Try again."


class NoDefaultCluster(MetastoreError):
    """hive.default.cluster.name is not set, or names no known cluster (DC-S4)."""

    code = "CW310"
    hint = "Set hive.default.cluster.name. Nothing was changed."


class CountMismatch(MetastoreError):
    """After an upgrade or downgrade the counts are not what was expected (DC-S4)."""

    code = "CW311"
    hint = "Run `causeway metastore verify`, then the command again; it continues where it stopped."


class NotUpgraded(MetastoreError):
    """`verify` found objects without a primary or with facts that contradict (DC-S4)."""

    code = "CW312"
    hint = "Run `causeway metastore upgrade`."


class BadTarget(MetastoreError):
    """`causeway table assign` was asked for something that cannot be."""

    code = "CW313"
