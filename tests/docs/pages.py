"""The pages of the documentation: their links, code blocks and names."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
_INDENTED = re.compile(r"(?:^    .*\n)+", re.M)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_SPAN = re.compile(r"`([^`\n]+)`")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def links(text: str) -> list[str]:
    """Targets of links outside of code blocks."""
    return _LINK.findall(_SPAN.sub("", _FENCE.sub("", text)))


def anchors(text: str) -> set[str]:
    """The anchors of headings, formed as GitHub does."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def code_lines(text: str) -> Iterator[str]:
    """Lines of code blocks, with continuation lines joined."""
    blocks = [code for _, code in _FENCE.findall(text)]
    blocks += _INDENTED.findall(_FENCE.sub("", text))
    for block in blocks:
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            yield line.strip()


def spans(text: str) -> list[str]:
    """Texts in backquotes outside of code blocks; a span may go over a line's end."""
    found = re.findall(r"`([^`]+)`", _FENCE.sub("", text))
    return [" ".join(each.split()) for each in found]
