"""What can go wrong with entities and instances that are kept and run."""

from pipeline.errors import LifecycleError


class UnknownEntity(LifecycleError):
    """No such entity, or no such instance of it."""

    code = "CW721"


class NotYours(LifecycleError):
    """Another user submitted the entity (FA-S1)."""

    code = "CW722"
    hint = "Everything runs as the submitter; ask them, or submit an entity of your own."


class InUse(LifecycleError):
    """An entity that others refer to (cluster -> feed -> process)."""

    code = "CW723"


class CannotSchedule(LifecycleError):
    """A valid entity that cannot run here."""

    code = "CW724"


class WrongState(LifecycleError):
    """What was asked for does not fit the state that the entity or instance is in."""

    code = "CW725"


class StoreUnavailable(LifecycleError):
    """The database of the lifecycle cannot be used."""

    code = "CW726"


class WrongOwner(LifecycleError):
    """A table owned by another user than the submitter (FA-S1, FA-S2)."""

    code = "CW729"
    hint = "Submit the feed as the table's owner (--user)."
