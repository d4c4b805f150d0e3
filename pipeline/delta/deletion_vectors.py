"""The file of a deletion vector. Its name has a UUID in Z85, the base 85 of ZeroMQ."""

import uuid
from collections.abc import Mapping

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {character: number for number, character in enumerate(_ALPHABET)}
_UUID_LENGTH = 20
_FRAME = 8  # the length before a vector and the checksum after it


class BadVector(ValueError):
    """A deletion vector that is not in a file below the table's directory."""


def vector_file(vector: Mapping[str, object]) -> tuple[str, int] | None:
    """The path of the vector's file, relative to the table, and the least length of that file; None
    for a vector within the log. Raises BadVector.
    """
    kind, text = vector.get("storageType"), str(vector.get("pathOrInlineDv"))
    if kind == "i":
        return None
    if kind != "u":
        raise BadVector(text)
    prefix, encoded = text[:-_UUID_LENGTH], text[-_UUID_LENGTH:]
    folder = f"{prefix}/" if prefix else ""
    raw = decode_z85(encoded)
    if len(raw) != 16:
        raise BadVector(text)
    path = f"{folder}deletion_vector_{uuid.UUID(bytes=raw)}.bin"
    return path, int(str(vector.get("offset") or 0)) + int(str(vector["sizeInBytes"])) + _FRAME


def decode_z85(text: str) -> bytes:
    """The bytes of a text in Z85: four bytes for each five digits. Raises BadVector."""
    groups = [text[start : start + 5] for start in range(0, len(text), 5)]
    try:
        numbers = [_number(group) for group in groups]
        return b"".join(number.to_bytes(4, "big") for number in numbers)
    except (KeyError, OverflowError) as error:
        raise BadVector(text) from error


def _number(group: str) -> int:
    if len(group) != 5:
        raise BadVector(group)
    number = 0
    for character in group:
        number = number * 85 + _DIGITS[character]
    return number
