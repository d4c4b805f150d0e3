"""Text from outside, made safe for terminals and logs.

Control characters move a terminal's cursor, line separators forge lines of a log, and Unicode's
bidirectional controls change the order in which a text is shown. Every character that is not
printable (`str.isprintable`) becomes an escape. A backslash stays as it is: the result is for
readers, not for parsers.
"""

import json


def escaped(text: str, keep: str = "") -> str:
    """The text with escapes for characters that are not printable, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in keep or char.isprintable() else _escape(ord(char)) for char in text
    )


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON, with JSON's own escapes for characters that are not printable. One line
    without `indent`."""
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
