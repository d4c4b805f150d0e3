"""Builds SVG elements as text."""

from collections.abc import Iterable
from html import escape

HATCH = (
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><path class="hatch" d="M0 0v4"/></pattern>'
)
"""A pattern of lines for stale objects, visible without colours; used as `url(#hatch)`."""


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """An element with its content, which is SVG text, and its attributes, which are escaped here.
    Attributes with the value None are left out. `class_` becomes `class`, and `_` in other names
    becomes `-`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def label(x: float, y: float, words: str, **attributes: object) -> str:
    """A line of text."""
    return element("text", escape(words, quote=False), x=x, y=y, **attributes)


def tooltip(words: str) -> str:
    """The title of the enclosing element, which a browser shows under the pointer."""
    return f"<title>{escape(words, quote=False)}</title>"


def picture(
    width: float,
    height: float,
    title: str,
    description: str,
    parts: Iterable[str],
    *,
    class_: str = "",
    links: bool = False,
) -> str:
    """The element `svg`. Screen readers read its title and description, and with `links` also its
    parts."""
    about = tooltip(title) + element("desc", escape(description, quote=False))
    return element(
        "svg",
        about + "".join(parts),
        class_=f"picture {class_}".strip(),
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        width=width,
        height=height,
        role="group" if links else "img",
        aria_label=title,
    )


def box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as a part of a path, so that one element can have many rectangles."""
    return f"M{_text(x)} {_text(y)}h{_text(width)}v{_text(height)}h-{_text(width)}z"


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
