"""HiveServer2's messages: `thriftcodec` with this endpoint's limits and error class.

Texts stay bytes: a statement may be large, and the halves of a handle are no text.
"""

from proxy.errors import WireError
from thriftcodec import message_end, reader, skip
from thriftcodec.errors import MalformedMessage
from thriftcodec.values import Message

MAX_VALUES = 1 << 18  # in a client's request: a byte on the wire may take 100 bytes of memory


def decode_message(data: bytes, max_values: int = reader.UNLIMITED) -> Message:
    """The message in `data`, with at most `max_values` values. Raises WireError."""
    try:
        return reader.decode_message(data, max_values)
    except MalformedMessage as error:
        raise WireError(str(error)) from error


def decode_head(data: bytes) -> tuple[str, int, int, int]:
    """Name, type and sequence number of a message, and the position of its body.

    Raises WireError.
    """
    try:
        kind, name, seqid, body = skip.read_message_header(data)
    except MalformedMessage as error:
        raise WireError(str(error)) from error
    return name, kind, seqid, body


class BareMessageEnd(message_end.MessageEnd):
    """Finds the end of a message without a frame, as NOSASL clients send them."""

    def feed(self, piece: bytes | bytearray) -> int | None:
        """The number of bytes of `piece` that belong to the message if it ends there, else None.

        Raises WireError.
        """
        try:
            return super().feed(piece)
        except MalformedMessage as error:
            raise WireError(str(error)) from error
