"""Assess and advise with the tables of a metastore and the statements of a history."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.advice import apply
from cli.main import main
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, read_placement, write_placement
from database.history.history_store import HistoryStore
from metastore.client.async_client import QUEUE_LIMIT
from metastore.client.types import Table
from tests.metastore.fake import FakeMetastore
from tests.proxy.operations.history.records import row

C1, C2 = ClusterName("C1"), ClusterName("C2")
DAYS, USERS, SPARE = (TableRef("default", name) for name in ("days", "users", "spare"))
Run = Callable[..., tuple[int, str]]


def table(ref: TableRef, placement: Placement, size: int, keys: str = "") -> Table:
    parameters = {**write_placement(placement), "totalSize": str(size)}
    return Table.make(
        ref,
        [("id", "int")],
        location=f"file:/w/{ref.name}",
        partition_keys=[(key, "string") for key in keys.split()],
        parameters=parameters,
    )


@pytest.fixture
def metastore() -> Iterator[FakeMetastore]:
    """Days in C1, users in C2, and a table that nobody reads with a copy."""
    fake = FakeMetastore()
    days = [(f"ds=2026-01-{day:02}", {"totalSize": "10"}) for day in range(1, 11)]
    fake.add(table(DAYS, Placement(C1), 100, "ds"), *days)
    fake.add(table(USERS, Placement(C2), 1_000_000))
    fake.add(table(SPARE, Placement(C1).with_copy(Copy(C2, "file:/c2/spare", "0")), 70))
    yield fake
    fake.stop()


@pytest.fixture
def run(metastore: FakeMetastore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    settings = tmp_path / "causeway.toml"
    clusters = {
        name: {"FileSystem": f"file:///{name}", "JobTracker": "127.0.0.1:1"} for name in (C1, C2)
    }
    settings.write_text(
        f'hive.metastore.uris = "thrift://{metastore.endpoint}"\n'
        f'hive.default.cluster.name = "C1"\n'
        f"hive.cluster.properties = '{json.dumps(clusters)}'\n"
        f'history.store = "{tmp_path / "history.db"}"\n'
    )

    def run(*words: str) -> tuple[int, str]:
        record = ("--record", str(tmp_path / "record.json")) if words[0] == "advise" else ()
        status = main([*words, "--conf", str(settings), "--processes", "1", *record])
        return status, capsys.readouterr().out

    return run


JOIN = "SELECT * FROM days JOIN users WHERE ds >= '2026-01-09'"


def test_tables_sizes_and_copies_come_from_the_metastore(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.sql"
    log.write_text(f"{JOIN}; SELECT * FROM spare; SELECT * FROM gone;")
    status, printed = run("assess", str(log), "--json")
    found = json.loads(printed)
    assert status == 0
    assert found["verdicts"]["runs"] == found["verdicts"]["refused"] == 1
    assert found["verdicts"]["names tables that are not known"] == 1
    made = [each for each in found["points"][-1]["copies"] if each["action"] == "make"]
    (only,) = made
    assert (only["table"], only["to"], only["bytes"]) == ("default.days", "C2", 20)
    assert only["filter"] == "ds >= '2026-01-09'"
    assert found["tables_of_unknown_size"] == 0


@pytest.mark.slow
def test_a_log_may_name_more_tables_than_calls_may_wait_for_the_metastore(
    run: Run, tmp_path: Path, metastore: FakeMetastore
) -> None:
    names = [f"t{number}" for number in range(QUEUE_LIMIT + 100)]
    for name in names:
        metastore.add(table(TableRef("default", name), Placement(C1), 10))
    log = tmp_path / "log.sql"
    log.write_text("".join(f"SELECT * FROM {name};\n" for name in names))
    status, printed = run("assess", str(log), "--json")
    assert status == 0
    assert json.loads(printed)["verdicts"]["runs"] == len(names)


@pytest.mark.slow
def test_statements_of_the_history(run: Run, tmp_path: Path) -> None:
    store = HistoryStore(str(tmp_path / "history.db"))
    rows = [row(number, text=f"{JOIN} AND id = {number}") for number in range(1_050)]
    store.put([{**each, "database": "default"} for each in rows], {})
    status, printed = run("assess", "--history", "--json")
    found = json.loads(printed)
    assert status == 0
    assert (found["statements"], found["templates"]) == (1_050, 1)
    assert found["verdicts"]["refused"] == 1_050


def has_spare_copy(metastore: FakeMetastore) -> bool:
    stored = read_placement(Table(metastore.tables[SPARE]).parameters, C1)
    return stored.copy_in(C2) is not None


def test_a_copy_of_a_table_that_no_statement_names_is_dropped_if_asked_for(
    run: Run, tmp_path: Path, metastore: FakeMetastore
) -> None:
    log = tmp_path / "log.sql"
    log.write_text("SELECT * FROM users")
    assert run("advise", str(log), "--apply")[0] == 0
    assert has_spare_copy(metastore)
    status, printed = run("advise", str(log), "--apply", "--drop-unread")
    assert status == 0
    assert "drop default.spare in C2: no statement could read it" in printed
    assert not has_spare_copy(metastore)


def test_apply_drops_a_copy_that_no_statement_needs(
    run: Run, tmp_path: Path, metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is dropped in the metastore; making one needs Spark, so it is only noted."""
    real, copied = apply.run_command, []
    monkeypatch.setattr(
        apply,
        "run_command",
        lambda *words: copied.append(words) or 0 if words[0] == "copy" else real(*words),
    )
    log = tmp_path / "log.sql"
    log.write_text(f"{JOIN}; SELECT * FROM spare; INSERT INTO spare SELECT 1;")
    assert run("advise", str(log), "--share", "1", "--apply")[0] == 0
    assert [words[:4] for words in copied] == [("copy", "default.days", "--to", "C2")]
    assert not has_spare_copy(metastore)
    status, printed = run("advise", "--undo")
    assert status == 0
    assert "default.days: " in printed
    assert copied[1][:4] == ("copy", "default.spare", "--to", "C2")
