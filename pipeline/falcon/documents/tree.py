"""Reads XML as a tree with line numbers, within limits.

Document types and entity declarations are refused before they can expand, and the size, depth and
number of elements are limited, so the cost of a document is bounded by its size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from pipeline.falcon.errors import BadDocument, DocumentProblem

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_ELEMENTS = 20_000

_SEPARATOR = "\n"  # cannot occur in a name or, after normalisation, in a namespace


@dataclass(slots=True)
class Element:
    """One element. `attributes` have no namespace; `foreign` are the names of all others."""

    name: str
    namespace: str
    line: int
    attributes: Mapping[str, str] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    children: list["Element"] = field(default_factory=list)
    text: str = ""

    def child(self, name: str) -> "Element | None":
        return next((each for each in self.children if each.name == name), None)

    def all(self, name: str) -> Iterator["Element"]:
        return (each for each in self.children if each.name == name)


def parse(data: bytes) -> Element:
    """The document's root. Raises BadDocument with one problem if it cannot be read."""
    if len(data) > MAX_BYTES:
        raise _bad(1, "document", f"larger than {MAX_BYTES} bytes")
    builder = _Builder()
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = f"not well-formed: {expat.ErrorString(error.code)}, column {error.offset + 1}"
        raise _bad(error.lineno, builder.where(), reason) from None
    except (LookupError, ValueError) as error:  # an encoding that Python has no codec for
        raise _bad(1, "document", f"unreadable: {error}") from None
    assert builder.root is not None
    return builder.root


def _bad(line: int, element: str, reason: str) -> BadDocument:
    return BadDocument((DocumentProblem(line, element, reason),))


class _Builder:
    """Builds the tree in Expat's callbacks. `where` is the innermost open element's name."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self._count = 0
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity

    def where(self) -> str:
        return self._open[-1].name if self._open else "document"

    def _line(self) -> int:
        return self.parser.CurrentLineNumber

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise _bad(self._line(), name, f"more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise _bad(self._line(), self.where(), f"nested deeper than {MAX_DEPTH} elements")
        namespace, _, local = name.rpartition(_SEPARATOR)
        plain = {key: value for key, value in attributes.items() if _SEPARATOR not in key}
        foreign = tuple(key.replace(_SEPARATOR, " ") for key in attributes if _SEPARATOR in key)
        element = Element(local, namespace, self._line(), plain, foreign)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._texts.append([])

    def _end(self, _name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)

    def _doctype(self, *_: object) -> None:
        raise _bad(self._line(), "document", "a DOCTYPE is not accepted")

    def _entity(self, *_: object) -> None:
        raise _bad(self._line(), "document", "entity declarations are not accepted")
