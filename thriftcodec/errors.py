"""The errors of decoding Thrift's binary protocol."""


class MalformedMessage(ValueError):
    """The bytes cannot be a value or message of the protocol."""


class Incomplete(MalformedMessage):
    """The bytes end before the value does."""

    def __init__(self) -> None:
        super().__init__("A message ends too early.")
