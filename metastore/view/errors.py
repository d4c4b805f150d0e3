"""Refusals of the metastore view. Codes CW35x."""

from metastore.errors import MetastoreError


class OutsidePrimary(MetastoreError):
    """A change of an object outside its primary cluster (DC-M4)."""

    code = "CW350"
    hint = "Use the metastore endpoint, or the session, of the primary cluster."


class UnknownMethod(MetastoreError):
    """The view does not know the call, so it cannot tell what the call would change."""

    code = "CW351"


class NoSuchCluster(MetastoreError):
    """A call names a cluster that hive.cluster.properties does not have (DC-U3)."""

    code = "CW352"


class PlacementUnreadable(MetastoreError):
    """The `causeway.` parameters of an object cannot be read, so changes of it are refused."""

    code = "CW353"
    hint = "Repair it with `causeway table assign`."


class FactsUnavailable(MetastoreError):
    """Facts that a change needs could not be read or written, so the change is refused."""

    code = "CW354"


class PlacementChanged(MetastoreError):
    """A client that names clusters sent facts that are out of date."""

    code = "CW355"
    hint = "Read the object again, then repeat the change."


class MessageTooLarge(MetastoreError):
    """A message or value is larger than the limits in docs/guide/metastore-view.md."""

    code = "CW356"


class CallerRefused(MetastoreError):
    """A principal may not speak for the cluster, or for the user, that its call names."""

    code = "CW358"
    hint = "view.callers says who may speak for which cluster."


class FormatNotCopied(MetastoreError):
    """A client that names clusters sent a copy of a table whose format cannot be copied."""

    code = "CW357"
