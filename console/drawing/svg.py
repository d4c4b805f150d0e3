"""SVG elements as text."""

from collections.abc import Iterable
from html import escape

HATCH = (
    '<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><path class="hatch" d="M0 0v4"/></pattern>'
)
"""Lines over what is not fresh, so that it is seen without colours; used as `url(#hatch)`."""


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """An element. `content` is SVG text; attributes are escaped, `class_` is `class`, and those
    that are None are left out. In other names `_` is `-`."""
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
    """The name of the element in which it stands, shown by a browser under the pointer."""
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
    """A whole picture. Screen readers read its title and description; with `links` its parts."""
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
    """A rectangle as a part of a path: many of one class are one element."""
    return f"M{_text(x)} {_text(y)}h{_text(width)}v{_text(height)}h-{_text(width)}z"


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
