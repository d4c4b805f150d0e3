"""Text from outside as it may go to a terminal or a log: nothing in it acts on its reader.

Control characters move a terminal's cursor, line separators forge lines of a log, and Unicode's
bidirectional controls show a text in another order than it has. Every character that Python does
not call printable is written as its escape. A backslash stays as it is: these are for readers, not
for parsers.
"""

import json


def escaped(text: str, keep: str = "") -> str:
    """The text with escapes in the place of characters that cannot be seen, but those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in keep or char.isprintable() else _escape(ord(char)) for char in text
    )


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON, readable where its text is: what cannot be seen is written as JSON's own
    escape. On one line without `indent`."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(
        char if char == "\n" or char.isprintable() else _json_escape(ord(char)) for char in text
    )


def _escape(code: int) -> str:
    named = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if named is not None:
        return named
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _json_escape(code: int) -> str:
    if code < 65536:
        return f"\\u{code:04x}"
    high, low = divmod(code - 65536, 1024)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
