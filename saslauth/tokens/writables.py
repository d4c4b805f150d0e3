"""Hadoop's Writables: the types in delegation tokens."""

from saslauth.errors import SaslFailed


class WritableReader:
    """Reads Hadoop's Writables. Every method raises SaslFailed."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def counted(self) -> bytes:
        """Bytes that follow their length, as in a Text."""
        return self.take(self.number())

    def number(self) -> int:
        """A VInt or VLong. Negative numbers are refused: lengths and times have none."""
        first = int.from_bytes(self.take(1), "big", signed=True)
        if first >= -112:
            number = first
        else:
            number = int.from_bytes(self.take(-112 - first), "big") if first >= -120 else -1
        if number < 0:
            raise SaslFailed("not a delegation token")
        return number

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            raise SaslFailed("not a delegation token")
        self._at += size
        return data


def counted(data: bytes) -> bytes:
    """The bytes after their length, as in a Text."""
    return number(len(data)) + data


def number(value: int) -> bytes:
    """A number of at least 0 as a VInt or VLong."""
    if value <= 127:
        return bytes((value,))
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return (-112 - len(digits)).to_bytes(1, "big", signed=True) + digits
