"""What can be wrong with bytes that should be Thrift's binary protocol."""


class MalformedMessage(ValueError):
    """The bytes cannot be a value or message of the protocol."""


class Incomplete(MalformedMessage):
    """The value goes on beyond the bytes that are there."""

    def __init__(self) -> None:
        super().__init__("A message ends too early.")
