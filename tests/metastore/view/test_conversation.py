"""A recorded conversation of Spark 3.5.9 with a metastore 2.3.9, through the view (DC-N1).

spark_conversation.json.gz: connections, each a list of ["c" or "s", base64 of the bytes]. It
creates, fills, reads, alters and drops tables, partitions, a view and a database named `cluster`.
"""

import base64
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint, Topology
from metastore.client.object_spans import Shape, is_partitioned, scan, spliced
from metastore.view.fact_edits import HIDDEN_FACTS, with_facts
from metastore.view.locations import ClusterView
from metastore.view.methods import methods
from metastore.view.outbound.locations_out import ReplyStream
from tests.metastore.writable import views
from thriftcodec.skip import read_message_header, skip_value
from thriftcodec.values import STRUCT

Talk = list[tuple[str, bytes]]
C1 = ClusterName("c1")
HERE = Topology({C1: Cluster(C1, "file:/srv/causeway/warehouse/c1", ())}, default=C1)


@pytest.fixture(scope="module")
def talks() -> list[Talk]:
    packed = (Path(__file__).parent / "spark_conversation.json.gz").read_bytes()
    recorded = json.loads(gzip.decompress(packed))
    return [[(who, base64.b64decode(sent)) for who, sent in talk] for talk in recorded]


class Script:
    """A metastore that knows one talk: it expects the client's words and says its own."""

    def __init__(self, talk: Talk) -> None:
        self.notified = b""
        self._talk = talk
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.endpoint = Endpoint(host, port)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def stop(self) -> None:
        self._listener.close()
        self._thread.join(60)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(60)
                if self._play(connection):
                    return

    def _play(self, connection: socket.socket) -> bool:
        """False for a connection that sent nothing: the view sees whether one listens."""
        for who, sent in self._talk:
            if who == "s":
                connection.sendall(sent)
                continue
            got = read(connection, len(sent))
            self.notified += got
            if not got:
                return False
        return True


def read(connection: socket.socket, size: int) -> bytes:
    """That many bytes, fewer at the end."""
    got = b""
    while len(got) < size and (chunk := connection.recv(size - len(got))):
        got += chunk
    return got


@contextmanager
def playing(talk: Talk) -> Iterator[Script]:
    script = Script(talk)
    try:
        yield script
    finally:
        script.stop()


def test_without_clusters_every_byte_is_the_same(talks: list[Talk]) -> None:
    assert sum(map(len, talks)) > 500
    for talk in talks:
        with playing(talk) as script, views(script, topology=Topology()) as view:
            endpoint = view["default"]
            with socket.create_connection((endpoint.host, endpoint.port)) as client:
                client.settimeout(60)
                for who, sent in talk:
                    if who == "c":
                        client.sendall(sent)
                    else:
                        assert read(client, len(sent)) == sent
                client.shutdown(socket.SHUT_WR)
                assert client.recv(1) == b""
        assert script.notified == b"".join(sent for who, sent in talk if who == "c")


def test_every_call_of_spark_s_has_a_row_and_an_end(talks: list[Talk]) -> None:
    names = set()
    for talk in talks:
        for who, sent in talk:
            _, name, _, body = read_message_header(sent)
            if who == "c":
                names.add(name)
            assert skip_value(sent, body, STRUCT) == len(sent)
    assert len(names) > 15
    assert names <= set(methods())


def test_its_default_cluster_reads_what_the_metastore_says(talks: list[Talk]) -> None:
    """With clusters configured but no copies, replies are the same bytes too, apart from the note
    in each partitioned table that the facts of its partitions are hidden."""
    replies = [received for talk in talks for who, received in talk if who == "s"]
    assert len(replies) > 250
    for received in replies:
        _, name, _, _ = read_message_header(received)
        place = methods()[name].outbound
        stream = ReplyStream(place, ClusterView(C1, HERE))
        sent = stream.feed(received)
        if name == "get_table" and HIDDEN_FACTS.encode() in sent:
            at = read_message_header(sent)[3] + 3  # the success
            found = scan(sent, at, Shape.TABLE)
            assert is_partitioned(sent, found)
            sent = spliced(sent, 0, len(sent), with_facts(sent, found, Shape.TABLE, {}))
        assert sent == received, (name, place and place.shape is Shape.DATABASE)
        assert stream.done
