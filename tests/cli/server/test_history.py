"""`causeway history` reads the database of `history.store`."""

import json
from pathlib import Path

import pytest

from cli.main import main
from database.history.history_store import HistoryStore
from database.history.history_thread import WorkBatch
from proxy.operations.history.row import row_of
from proxy.operations.history.table_use import TableUse
from tests.database.history.work_records import copy, instance
from tests.proxy.operations.history.records import record, row


def settings(folder: Path, store: str = "") -> list[str]:
    """The options that name settings with this store."""
    path = folder / "causeway.toml"
    path.write_text(f'proxy.upstream = "h:1"\nhistory.store = "{store}"\n')
    return ["--conf", str(path)]


def test_lines_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "history.db"
    slow = row(2, "sales.orders", text="SELECT\n  2", seconds=30.0, rule="output", cluster="east")
    HistoryStore(str(store)).put([row(1), slow, row(3, code="CW104")], {})
    options = settings(tmp_path, str(store))
    assert main(["history", *options, "--limit", "2"]) == 0
    head, refused, ran, more = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["TIME", "STATEMENT", "USER", "STATE", "SECONDS"]
    assert refused.split()[6:8] == ["-", "CW104"]
    assert ran.split()[1:] == [
        *("00000002", "ann", "FINISHED", "30.000", "east", "output", "-", "SELECT", "2")
    ]
    cursor = more.split()[-1]
    assert main(["history", *options, "--before", cursor]) == 0
    assert "00000001" in capsys.readouterr().out
    found = ["--table", "sales.orders", "--slower-than", "20s", "--since", "1970-01-01", "--json"]
    assert main(["history", *options, *found]) == 0
    page = json.loads(capsys.readouterr().out)
    assert [each["statement"] for each in page["statements"]] == ["00000002"]
    assert main(["history", *options, "--refused", "--since", "24h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["statements"] == []


def test_copies_instances_and_summaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = HistoryStore(str(tmp_path / "history.db"))
    failed = instance(2, state="FAILED")
    WorkBatch([copy(1), copy(2, target="north"), instance(1), failed]).write(store)
    reads = TableUse("sales.orders", False), TableUse("sales.daily", True)
    store.put([row_of(record(1), reads, "")], {})
    options = settings(tmp_path, str(tmp_path / "history.db"))

    def lines(*words: str) -> list[list[str]]:
        assert main(["history", *words, *options]) == 0
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    head, found = lines("copies", "--to", "north")
    assert head[1:6] == ["COPY", "TABLE", "FROM", "TO", "STATE"]
    assert found[2:10] == ["sales.orders", "east", "north", "SUCCEEDED", "2", "7", "700", "650"]
    *_, more = lines("copies", "--limit", "1")
    assert more[:3] == ["older", "ones:", "--before"]
    (_, failed) = lines("instances", "--state", "FAILED")
    assert failed[2:7] == ["feed", "orders", "replicate", "west", "FAILED"]
    assert lines("lineage")[1][:3] == ["sales.orders", "sales.daily", "1"]
    assert lines("traffic")[1] == ["east", "north", "1", "0", "650"]
    (head,) = lines("refusals", "--since", "24h")
    assert head[:5] == ["TABLE", "CLUSTER", "KIND", "STATEMENTS", "FREED"]
    assert main(["history", "copies", "--json", *options]) == 0
    assert len(json.loads(capsys.readouterr().out)["copies"]) == 2
    assert main(["history", "copies", "--user", "ann", *options]) == 1
    assert "[CW228]" in capsys.readouterr().err


def test_without_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", *settings(tmp_path)]) == 1
    assert "[CW518] the settings name no history.store" in capsys.readouterr().err
    assert main(["history", *settings(tmp_path, str(tmp_path / "none.db"))]) == 1
    assert "[CW518] there is no history in" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_a_search_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "history.db"
    HistoryStore(str(store))
    assert main(["history", *settings(tmp_path, str(store)), "--since", "yesterday"]) == 1
    assert "[CW228]" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["history", *settings(tmp_path, str(store)), "--slower-than", "slow"])
