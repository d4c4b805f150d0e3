"""Types of XML elements as data, and the check of an element against its type.

The names are those of XML Schema: a complex type has particles, each of which is one element, or a
choice of elements, with a number of occurrences. The type of an element without children is a check
of its text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.falcon.documents.tree import Element
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.validators import Check

_SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance "
_HINTS = frozenset(
    {_SCHEMA_INSTANCE + "schemaLocation", _SCHEMA_INSTANCE + "noNamespaceSchemaLocation"}
)


@dataclass(frozen=True, slots=True)
class ComplexType:
    """The type of an element with children. `unordered` children may come in any order, each at
    most once. `required` and `optional` are its attributes.
    """

    content: tuple["Particle", ...] = ()
    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    unordered: bool = False


ElementType = ComplexType | Check


@dataclass(frozen=True, slots=True)
class Particle:
    """One of the elements `choices`, from `least` to `most` times (None: without a limit)."""

    choices: Mapping[str, ElementType]
    least: int = 1
    most: int | None = 1

    def __str__(self) -> str:
        return " or ".join(self.choices)


def one(name: str, type_: ElementType) -> Particle:
    return Particle({name: type_})


def maybe(name: str, type_: ElementType) -> Particle:
    return Particle({name: type_}, least=0)


def many(name: str, type_: ElementType, least: int = 0, most: int | None = None) -> Particle:
    return Particle({name: type_}, least, most)


def problems(element: Element, expected: ElementType, namespace: str) -> Iterator[DocumentProblem]:
    """The problems of an element's attributes and content; its own name is not checked."""
    for name in element.foreign:
        if name not in _HINTS:
            reason = f"unexpected attribute {name.split()[-1]}"
            yield DocumentProblem(element.line, element.name, reason)
    if isinstance(expected, ComplexType):
        yield from _complex_problems(element, expected, namespace)
        return
    for name in element.attributes:
        yield DocumentProblem(element.line, element.name, f"unexpected attribute {name}")
    for child in element.children:
        yield DocumentProblem(child.line, child.name, f"is not expected in {element.name}")
    if not element.children and (why_not := expected(element.text)):
        yield DocumentProblem(element.line, element.name, why_not)


def _complex_problems(
    element: Element, expected: ComplexType, namespace: str
) -> Iterator[DocumentProblem]:
    for name, value in element.attributes.items():
        check_value = expected.required.get(name) or expected.optional.get(name)
        if check_value is None:
            yield DocumentProblem(element.line, element.name, f"unexpected attribute {name}")
        elif reason := check_value(value):
            yield DocumentProblem(element.line, element.name, f"{name}: {reason}")
    for name in expected.required:
        if name not in element.attributes:
            yield DocumentProblem(element.line, element.name, f"attribute {name} is missing")
    if element.text.strip(" \t\r\n") or (element.text and not expected.content):
        yield DocumentProblem(element.line, element.name, "has text where only elements belong")
    content_problems = _unordered_problems if expected.unordered else _ordered_problems
    yield from content_problems(element, expected, namespace)


def _ordered_problems(
    element: Element, expected: ComplexType, namespace: str
) -> Iterator[DocumentProblem]:
    """Matches children with particles in order. The name of the next child decides, because no two
    neighbouring particles have an element in common.
    """
    rest = list(reversed(element.children))
    for particle in expected.content:
        count = 0
        while rest and rest[-1].name in particle.choices and _is_in(namespace, rest[-1]):
            if particle.most is not None and count >= particle.most:
                break
            child = rest.pop()
            yield from problems(child, particle.choices[child.name], namespace)
            count += 1
        if count < particle.least:
            yield _missing_problem(element, particle, count, rest)
            return
    for child in reversed(rest):
        yield DocumentProblem(child.line, child.name, f"is not expected here in {element.name}")
        return


def _missing_problem(
    element: Element, particle: Particle, count: int, rest: list[Element]
) -> DocumentProblem:
    number = "" if particle.least == 1 else f"{particle.least} "
    wanted = f"expected {number}{particle}"
    if rest:
        reason = f"is not expected here: {wanted}"
        return DocumentProblem(rest[-1].line, rest[-1].name, reason)
    found = f", found {count}" if count else ""
    return DocumentProblem(element.line, element.name, f"is not complete: {wanted}{found}")


def _unordered_problems(
    element: Element, expected: ComplexType, namespace: str
) -> Iterator[DocumentProblem]:
    types = {
        name: choice for particle in expected.content for name, choice in particle.choices.items()
    }
    for child in element.children:
        element_type = types.pop(child.name, None) if _is_in(namespace, child) else None
        if element_type is None:
            yield DocumentProblem(child.line, child.name, f"is not expected here in {element.name}")
        else:
            yield from problems(child, element_type, namespace)


def _is_in(namespace: str, element: Element) -> bool:
    return element.namespace == namespace
