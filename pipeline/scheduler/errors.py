"""Errors of stored entities and their instances."""

from pipeline.errors import LifecycleError


class UnknownEntity(LifecycleError):
    """The entity, or the instance of it, does not exist."""

    code = "CW721"


class NotYours(LifecycleError):
    """Another user submitted the entity (FA-S1)."""

    code = "CW722"
    hint = "Only the submitter may do this; submit an entity of your own."


class InUse(LifecycleError):
    """Other entities refer to the entity (cluster -> feed -> process)."""

    code = "CW723"


class CannotSchedule(LifecycleError):
    """A valid entity cannot run here."""

    code = "CW724"


class WrongState(LifecycleError):
    """The request is not possible in the present state of the entity or instance."""

    code = "CW725"


class BadCatalogService(LifecycleError):
    """The class of `catalog.service.impl` cannot be used."""

    code = "CW731"
    hint = "Name a class as package.module:Class that can be imported and made without arguments."


class BadRequest(LifecycleError):
    """A request to the port of `lifecycle serve` has a parameter that is unknown or invalid."""

    code = "CW730"


class WrongOwner(LifecycleError):
    """The table has another owner than the submitter (FA-S1, FA-S2)."""

    code = "CW729"
    hint = "Submit the feed as the table's owner (--user)."
