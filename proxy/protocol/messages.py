"""HiveServer2's messages: Thrift's binary protocol with this endpoint's bounds and error.

Texts stay bytes: a statement may be large, and the halves of a handle are not text.
"""

from proxy.errors import WireError
from thriftcodec import message_end, reader, skip
from thriftcodec.errors import MalformedMessage
from thriftcodec.values import Message

MAX_VALUES = 1 << 18  # of a client's request: one byte on the wire may take 100 bytes of memory


def decode_message(data: bytes, most: int = reader.UNLIMITED) -> Message:
    """The message that `data` is, with at most `most` values. Raises WireError."""
    try:
        return reader.decode_message(data, most)
    except MalformedMessage as error:
        raise WireError(str(error)) from error


def decode_head(data: bytes) -> tuple[str, int, int, int]:
    """Name, kind and sequence number of a message, and where its body starts. Raises WireError."""
    try:
        kind, name, seqid, body = skip.read_message_header(data)
    except MalformedMessage as error:
        raise WireError(str(error)) from error
    return name, kind, seqid, body


class BareMessageEnd(message_end.MessageEnd):
    """Finds where a client's unframed message ends (NOSASL sends them bare)."""

    def feed(self, piece: bytes | bytearray) -> int | None:
        """How many bytes of `piece` belong to the message if it ends there. Raises WireError."""
        try:
            return super().feed(piece)
        except MalformedMessage as error:
            raise WireError(str(error)) from error
