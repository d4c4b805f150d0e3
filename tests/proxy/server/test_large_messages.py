"""Messages of megabytes: threads decode and hash their texts, not the event loop."""

import hashlib
import threading
from typing import Any

import pytest

from dialect.lexing.tokenize import MAX_LENGTH
from proxy.protocol.framing import Frame, SaslInbound, client_negotiation
from proxy.protocol.requests import decoded
from proxy.record import statement_text
from proxy.record.statement_text import StatementText
from proxy.server.calls import handler
from proxy.statement.analysis import analyzer_pool
from tests.proxy.fakes import Client, World, error_of, play

MEGABYTE = 1 << 20


def test_a_large_frame_is_not_copied() -> None:
    inbound = SaslInbound()
    inbound.feed(client_negotiation("ann", "x"))
    inbound.accept()
    body = bytes(8 * MEGABYTE)
    inbound.feed(len(body).to_bytes(4, "big"))
    events = [
        event for at in range(0, len(body), MEGABYTE) for event in inbound.feed(body[:MEGABYTE])
    ]
    assert [type(event) for event in events] == [Frame]
    assert isinstance(events[0], Frame)
    assert isinstance(events[0].data, bytearray), "bytes would be a copy"
    assert events[0].data == body
    assert inbound.feed(b"\0\0\0\2ab") == [Frame(b"ab")]


@pytest.mark.parametrize("shift", range(4))
def test_a_long_text_is_decoded_in_pieces(shift: int) -> None:
    raw = b"a" * shift + "\N{GRINNING FACE}".encode() * (MEGABYTE // 2) + b"\xff\xf0\x9f"
    assert decoded(raw) == raw.decode(errors="replace")


def test_the_hash_of_a_long_text_covers_all_of_it() -> None:
    text = "\N{GRINNING FACE}\udc80" * MEGABYTE
    whole = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    assert StatementText.of(text).hash == whole


def test_large_texts_are_processed_outside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The text is decoded and hashed in threads, and neither searched nor sent to a process."""
    in_loop: list[bool] = []

    def noting(work: Any) -> Any:
        def noted(*args: Any) -> Any:
            if watching:
                in_loop.append(threading.current_thread() is threading.main_thread())
            return work(*args)

        return noted

    def unused(*_: object) -> None:
        raise AssertionError("a text of megabytes was sent to a process")

    watching = False

    async def scenario(world: World) -> None:
        nonlocal watching
        client: Client = await world.client()
        watching = True
        failure = error_of(await client.execute("SELECT '" + "x" * 6 * MEGABYTE + "'"))
        watching = False
        assert failure is not None
        assert f"longer than {MAX_LENGTH} characters" in failure.message
        assert await client.rows("SELECT 1") == 1

    monkeypatch.setattr(handler, "decode_message", noting(handler.decode_message))
    monkeypatch.setattr(statement_text, "sha256", noting(statement_text.sha256))
    monkeypatch.setattr(analyzer_pool, "packed", unused)
    play(scenario)
    assert in_loop == [False, False]


def test_a_text_of_megabytes_arrives_where_no_cluster_is_configured() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        text = "SELECT '" + "\N{LATIN SMALL LETTER A WITH DIAERESIS}" * 6 * MEGABYTE + "'"
        assert error_of(await client.execute(text)) is None
        assert world.east.statements == [text]

    play(scenario, in_use=False)
