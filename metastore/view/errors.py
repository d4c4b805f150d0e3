"""Why the view refuses a call. Codes CW35x."""

from metastore.errors import MetastoreError


class OutsidePrimary(MetastoreError):
    """DC-M4: an object is changed only in its primary cluster."""

    code = "CW350"
    hint = "Use the metastore endpoint, or the session, of the primary cluster."


class UnknownMethod(MetastoreError):
    """A call that the table of methods lacks: what it would do is not known."""

    code = "CW351"


class UnknownCluster(MetastoreError):
    """A call names a cluster that hive.cluster.properties lacks (DC-U3)."""

    code = "CW352"


class PlacementUnreadable(MetastoreError):
    """An object's `causeway.` parameters cannot be read, so nobody may change it."""

    code = "CW353"
    hint = "Repair it with `causeway table assign`."


class FactsUnavailable(MetastoreError):
    """The metastore did not say whose an object is, so the call is not passed on."""

    code = "CW354"


class PlacementChanged(MetastoreError):
    """A client that names clusters itself sends back facts that are no longer true."""

    code = "CW355"
    hint = "Read the object again, then repeat the change."


class TooLarge(MetastoreError):
    """A message or value beyond the limits of docs/guide/metastore-view.md."""

    code = "CW356"
