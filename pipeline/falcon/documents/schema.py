"""Shapes of elements, as data, and the check of an element against one."""

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
    """An element made of others. `unordered` children come in any order, each at most once."""

    content: tuple["Particle", ...] = ()
    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    unordered: bool = False


ElementType = ComplexType | Check


@dataclass(frozen=True, slots=True)
class Particle:
    """A place in an element's content: any of `choices`, from `least` to `most` times."""

    choices: Mapping[str, ElementType]
    least: int = 1
    most: int | None = 1

    def __str__(self) -> str:
        return " or ".join(self.choices)


def one(name: str, shape: ElementType) -> Particle:
    return Particle({name: shape})


def maybe(name: str, shape: ElementType) -> Particle:
    return Particle({name: shape}, least=0)


def many(name: str, shape: ElementType, least: int = 0, most: int | None = None) -> Particle:
    return Particle({name: shape}, least, most)


def problems(element: Element, shape: ElementType, namespace: str) -> Iterator[DocumentProblem]:
    """Problems of an element's content; its own name is not checked."""
    for name in element.foreign:
        if name not in _HINTS:
            yield DocumentProblem(
                element.line, element.name, f"unexpected attribute {name.split()[-1]}"
            )
    if isinstance(shape, ComplexType):
        yield from _group_problems(element, shape, namespace)
        return
    for name in element.attributes:
        yield DocumentProblem(element.line, element.name, f"unexpected attribute {name}")
    for child in element.children:
        yield DocumentProblem(child.line, child.name, f"is not expected in {element.name}")
    if not element.children and (reason := shape(element.text)):
        yield DocumentProblem(element.line, element.name, reason)


def _group_problems(
    element: Element, shape: ComplexType, namespace: str
) -> Iterator[DocumentProblem]:
    for name, value in element.attributes.items():
        check_value = shape.required.get(name) or shape.optional.get(name)
        if check_value is None:
            yield DocumentProblem(element.line, element.name, f"unexpected attribute {name}")
        elif reason := check_value(value):
            yield DocumentProblem(element.line, element.name, f"{name}: {reason}")
    for name in shape.required:
        if name not in element.attributes:
            yield DocumentProblem(element.line, element.name, f"attribute {name} is missing")
    if element.text.strip(" \t\r\n") or (element.text and not shape.content):
        yield DocumentProblem(element.line, element.name, "has text where only elements belong")
    order = _unordered if shape.unordered else _ordered
    yield from order(element, shape, namespace)


def _ordered(element: Element, shape: ComplexType, namespace: str) -> Iterator[DocumentProblem]:
    """Places are met in turn; one look ahead is enough, as no two neighbours share a name."""
    rest = list(reversed(element.children))
    for place in shape.content:
        count = 0
        while rest and rest[-1].name in place.choices and _in(namespace, rest[-1]):
            if place.most is not None and count >= place.most:
                break
            child = rest.pop()
            yield from problems(child, place.choices[child.name], namespace)
            count += 1
        if count < place.least:
            yield _missing(element, place, count, rest)
            return
    for child in reversed(rest):
        yield DocumentProblem(child.line, child.name, f"is not expected here in {element.name}")
        return


def _missing(element: Element, place: Particle, count: int, rest: list[Element]) -> DocumentProblem:
    wanted = f"expected {place}" if place.least == 1 else f"expected {place.least} {place}"
    if rest:
        return DocumentProblem(rest[-1].line, rest[-1].name, f"is not expected here: {wanted}")
    found = f", found {count}" if count else ""
    return DocumentProblem(element.line, element.name, f"is not complete: {wanted}{found}")


def _unordered(element: Element, shape: ComplexType, namespace: str) -> Iterator[DocumentProblem]:
    places = {name: each for place in shape.content for name, each in place.choices.items()}
    for child in element.children:
        known = places.pop(child.name, None) if _in(namespace, child) else None
        if known is None:
            yield DocumentProblem(child.line, child.name, f"is not expected here in {element.name}")
        else:
            yield from problems(child, known, namespace)


def _in(namespace: str, element: Element) -> bool:
    return element.namespace == namespace
