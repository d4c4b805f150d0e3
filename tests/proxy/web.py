"""An HTTP client that sends any bytes."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from conf.topology import Endpoint
from proxy.protocol.messages import decode_message
from tests.proxy.fakes import Client
from thriftcodec.values import CALL, STRUCT, Message, Struct
from thriftcodec.writer import encode_message

PATH = "/cliservice"


@dataclass
class Reply:
    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return ", ".join(found) if found else None


def basic(user: str, password: str = "pw") -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


ANN = basic("ann")
CALL_BYTES = encode_message(Message("GetInfo", CALL, 7, Struct({1: (STRUCT, Struct())})))


def post(body: bytes, path: str = PATH, **headers: str) -> bytes:
    sent = {"Host": "localhost", "Content-Length": str(len(body))}
    sent |= {key.replace("_", "-"): value for key, value in headers.items()}
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def read_reply(reader: asyncio.StreamReader, to_head: bool = False) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    reply = Reply(int(head[0].split(" ")[1]))
    for line in head[1:-2]:
        name, _, value = line.partition(": ")
        reply.headers.append((name, value))
    length = int(reply.header("Content-Length") or 0)
    if not to_head:
        reply.body = await reader.readexactly(length)
    return reply


class WebClient(Client):
    """Keeps one connection; sends Basic, and what `headers` has, with each call."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, user: str | None
    ) -> None:
        super().__init__(reader, writer)
        self.path = PATH
        self.headers = {"Authorization": basic(user)} if user is not None else {}
        self.last = Reply(0)

    async def send(self, name: str, request: Struct) -> None:
        self.seqid += 1
        data = encode_message(Message(name, CALL, self.seqid, Struct({1: (STRUCT, request)})))
        self.writer.write(post(data, self.path, **self.headers))
        await self.writer.drain()

    async def receive(self) -> Message:
        self.last = await read_reply(self.reader)
        assert self.last.status == 200, self.last
        message = decode_message(self.last.body)
        assert message.seqid == self.seqid
        return message

    async def say(self, data: bytes, to_head: bool = False) -> Reply:
        """Sends these bytes and returns the reply."""
        self.writer.write(data)
        await self.writer.drain()
        self.last = await read_reply(self.reader, to_head)
        return self.last


@asynccontextmanager
async def web(
    endpoint: Endpoint, user: str | None = "ann", tls: ssl.SSLContext | None = None
) -> AsyncIterator[WebClient]:
    """A new connection; no session is open yet."""
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=tls)
    try:
        yield WebClient(reader, writer, user)
    finally:
        writer.transport.abort()
