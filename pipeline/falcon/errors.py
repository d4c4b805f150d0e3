"""Errors of entity documents."""

from dataclasses import dataclass

from conf.errors import CausewayError


@dataclass(frozen=True, slots=True, order=True)
class DocumentProblem:
    """A problem of a document: its position and the reason."""

    line: int
    element: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.element}: {self.reason}"


class EntityError(CausewayError):
    """The family of errors about entity documents."""

    code = "CW700"


class BadDocument(EntityError):
    """A document is not a valid entity; `problems` has the reasons."""

    code = "CW701"

    def __init__(self, problems: tuple[DocumentProblem, ...], source: str = "document") -> None:
        super().__init__("; ".join(f"{source}:{problem}" for problem in problems))
        self.problems = problems
        self.source = source


class BadExpression(EntityError, ValueError):
    """An EL expression is not a time."""

    code = "CW702"


class BadCatalogUri(EntityError, ValueError):
    """A table URI does not have the form `catalog:db:table#key=value;..`."""

    code = "CW703"


class BadFrequency(EntityError, ValueError):
    """A frequency does not have the form `minutes|hours|days|months(n)`."""

    code = "CW704"
