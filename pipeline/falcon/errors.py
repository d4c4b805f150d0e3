"""What can be wrong with an entity document."""

from dataclasses import dataclass

from conf.errors import CausewayError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault of a document: where it is and why it is one."""

    line: int
    element: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.element}: {self.reason}"


class EntityError(CausewayError):
    """The family of errors about entity documents."""

    code = "CW700"


class BadDocument(EntityError):
    """A document that is not a valid entity; `problems` has at least one."""

    code = "CW701"

    def __init__(self, problems: tuple[Problem, ...], source: str = "document") -> None:
        super().__init__("; ".join(f"{source}:{problem}" for problem in problems))
        self.problems = problems
        self.source = source


class BadExpression(EntityError, ValueError):
    """An EL expression that means no time."""

    code = "CW702"


class BadCatalogUri(EntityError, ValueError):
    """A table URI that is not `catalog:db:table#key=value;..`."""

    code = "CW703"


class BadFrequency(EntityError, ValueError):
    """Not `minutes|hours|days|months(n)`."""

    code = "CW704"
