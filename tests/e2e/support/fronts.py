"""Proxies of the tests before the running stack: every transport, plain and under TLS."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from cli.stack.stack import Stack, free_ports
from conf.topology import Endpoint
from tests.e2e.conftest import C1, run_sql
from tests.proxy.certificates import made

DATABASE = "clients"
_TABLES = (
    f"CREATE DATABASE {DATABASE}",
    f"""CREATE TABLE {DATABASE}.types (t TINYINT, s SMALLINT, i INT COMMENT 'a number', b BIGINT,
      bo BOOLEAN, f FLOAT, d DOUBLE, de DECIMAL(20, 4), st STRING, vc VARCHAR(10), ch CHAR(3),
      bi BINARY, dt DATE, ts TIMESTAMP, ar ARRAY<INT>, m MAP<STRING, INT>,
      sr STRUCT<x: INT, y: STRING>) USING parquet COMMENT 'every type'""",
    f"""INSERT INTO {DATABASE}.types VALUES
      (1Y, 2S, 1, 4, true, 1.5F, 2.5, 3.25, 'é', 'v', 'c', X'41FF', DATE'2024-02-29',
       TIMESTAMP'2024-02-29 01:02:03.456789', array(1, NULL), map('k', 1),
       named_struct('x', 1, 'y', 'z')),
      (NULL, NULL, 2, NULL, NULL, CAST('NaN' AS FLOAT), CAST('Infinity' AS DOUBLE), NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""",
    f"CREATE TABLE {DATABASE}.parted (a INT, p STRING) USING parquet PARTITIONED BY (p)",
    f"CREATE VIEW {DATABASE}.v AS SELECT i, st FROM {DATABASE}.types",
)
_STACK_ADDRESSES = ("hive.server2.thrift.port", "proxy.admin.")  # addresses that are taken


@dataclass(frozen=True, slots=True)
class Front:
    """The endpoints of one proxy."""

    binary: Endpoint
    http: Endpoint


@dataclass(frozen=True, slots=True)
class Fronts:
    """Endpoints of the same clusters: one Thrift Server, a plain proxy, and one under TLS.

    `ca` is the certificate in PEM. Tables to be read are in `DATABASE`.
    """

    direct: Endpoint
    plain: Front
    secure: Front
    ca: Path


@contextmanager
def opened(stack: Stack, folder: Path) -> Iterator[Fronts]:
    certificate = made()
    keystore = certificate.pem(folder / "keystore.pem")
    ca = folder / "ca.pem"
    ca.write_bytes(certificate.certificate.public_bytes(Encoding.PEM))
    secured = f"hive.server2.use.SSL = true\nhive.server2.keystore.path = '{keystore}'\n"
    run_sql(stack, *_TABLES)
    with ExitStack() as exits:
        plain = exits.enter_context(serving(stack, folder / "plain.toml", ""))
        secure = exits.enter_context(serving(stack, folder / "secure.toml", secured))
        yield Fronts(stack.ports.hs2[C1], plain, secure, ca)


@contextmanager
def serving(stack: Stack, path: Path, more: str) -> Iterator[Front]:
    """A proxy over the stack, with the stack's settings and `more`, which it writes to `path`."""
    binary, http = free_ports(2)
    theirs = stack.layout.settings.read_text().splitlines()
    lines = [line for line in theirs if not line.startswith(_STACK_ADDRESSES)]
    ours = f"hive.server2.thrift.port = {binary.port}\n{more}"
    ours += f"hive.server2.transport.mode = 'all'\nhive.server2.thrift.http.port = {http.port}\n"
    path.write_text(ours + "\n".join(lines))
    words = [sys.executable, "-m", "cli.main", "serve", "--conf", str(path)]
    with (
        path.with_suffix(".log").open("w") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            announced = [process.stdout.readline() for _ in range(2)]
            assert all(line.startswith("listening ") for line in announced), announced
            yield Front(binary, http)
        finally:
            process.terminate()
