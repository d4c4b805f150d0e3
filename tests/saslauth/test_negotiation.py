"""A client's negotiation with servers that follow or break the protocol."""

import pytest

from saslauth.errors import SaslFailed
from saslauth.negotiation import (
    BAD,
    COMPLETE,
    ERROR,
    MAX_NEGOTIATION,
    OK,
    ClientNegotiation,
    SaslReply,
    read_sasl_reply,
    sasl_message,
    sasl_response,
    sasl_start,
)
from saslauth.security_layer import SecurityLayer


class Steps:
    """A mechanism that is complete after some steps."""

    name = "STEPS"
    layer: SecurityLayer | None = None

    def __init__(self, left: int) -> None:
        self._left = left
        self.challenges: list[bytes | None] = []

    @property
    def complete(self) -> bool:
        return self._left <= 0

    def step(self, challenge: bytes | None) -> bytes:
        self._left -= 1
        self.challenges.append(challenge)
        return b"r"


def test_a_servers_reply_is_read() -> None:
    assert read_sasl_reply(sasl_message(COMPLETE, b"")) == SaslReply(True, True, b"", 5)
    assert read_sasl_reply(sasl_message(OK, b"x") + b"m") == SaslReply(True, False, b"x", 6)
    assert read_sasl_reply(sasl_message(BAD, b"no")) == SaslReply(False, False, b"no", 7)
    for short in (b"", b"\5", sasl_message(COMPLETE, b"x")[:-1]):
        assert read_sasl_reply(short) is None
    with pytest.raises(SaslFailed):
        read_sasl_reply(bytes((OK,)) + (MAX_NEGOTIATION + 1).to_bytes(4, "big"))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_challenges_are_answered_until_the_negotiation_is_complete(size: int) -> None:
    mechanism = Steps(3)
    negotiation = ClientNegotiation(mechanism)
    assert negotiation.start() == sasl_start("STEPS") + sasl_response(b"r", last=False)
    for challenge, status in ((b"one", OK), (b"", COMPLETE)):
        message = sasl_message(OK, challenge)
        sent = [negotiation.receive(message[at : at + size]) for at in range(0, len(message), size)]
        assert b"".join(sent) == sasl_message(status, b"r")
        assert not negotiation.done
    assert negotiation.receive(sasl_message(COMPLETE, b"")) == b""
    assert negotiation.done
    assert mechanism.challenges == [None, b"one", b""]


def test_the_last_challenge_may_come_with_the_end() -> None:
    """As DIGEST-MD5's proof of the server does."""
    negotiation = ClientNegotiation(Steps(2))
    negotiation.start()
    assert negotiation.receive(sasl_message(COMPLETE, b"proof")) == b""
    assert negotiation.done


@pytest.mark.parametrize(
    ("steps", "reply", "why"),
    [
        (1, sasl_message(BAD, b"go\0away"), "refused the log-in: go.away"),
        (1, sasl_message(ERROR, b""), "no reason"),
        (1, sasl_message(0, b"x"), "refused"),
        (1, sasl_message(OK, b""), "continues a negotiation"),
        (3, sasl_message(COMPLETE, b""), "did not prove"),
        (1, sasl_message(COMPLETE, b"") + b"x", "bytes after its reply"),
        (1, b"HTTP/1.1 400 Bad Request", "Not a SASL"),
    ],
)
def test_unexpected_replies_end_the_negotiation(steps: int, reply: bytes, why: str) -> None:
    negotiation = ClientNegotiation(Steps(steps))
    negotiation.start()
    with pytest.raises(SaslFailed, match=why):
        negotiation.receive(reply)
    assert not negotiation.done
