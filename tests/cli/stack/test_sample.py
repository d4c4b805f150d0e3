"""The sample's making, interrupted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.stack import sample
from cli.stack.plan import StackLayout, StackSpec
from conf.names import ClusterName
from conf.topology import Endpoint


class Connection:
    """Is interrupted while it waits for the reply to `stop_at`."""

    def __init__(self, stop_at: str) -> None:
        self.stop_at = stop_at
        self.statements: list[str] = []
        self.closed = False

    def cursor(self) -> "Connection":
        return self

    def execute(self, statement: str) -> None:
        self.statements.append(statement)
        if statement.startswith(self.stop_at):
            raise KeyboardInterrupt

    def fetchall(self) -> list[Any]:
        return []

    def close(self) -> None:
        self.closed = True


def test_an_interrupt_asks_no_more_of_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    east = ClusterName("east")
    left = StackLayout(tmp_path).warehouse(east) / "sample.db" / "customers" / "part-0"
    left.parent.mkdir(parents=True)
    left.touch()
    connection = Connection("CREATE TABLE")
    monkeypatch.setattr("cli.stack.sample.hive.connect", lambda *where: connection)
    stack: Any = SimpleNamespace(spec=StackSpec((east,)), layout=StackLayout(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        sample.make(stack, Endpoint("127.0.0.1", 1))
    assert not connection.closed
    assert connection.statements[-1].startswith("CREATE TABLE")
    assert not left.parent.exists()  # a table could not be made over another's files
