"""`causeway history` reads the database of `history.store`."""

import json
from pathlib import Path

import pytest

from cli.main import main
from proxy.operations.history.history_store import HistoryStore
from tests.proxy.operations.history.test_history_store import row


def settings(folder: Path, store: str = "") -> list[str]:
    """The options that name settings with this store."""
    path = folder / "causeway.toml"
    path.write_text(f'proxy.upstream = "h:1"\nhistory.store = "{store}"\n')
    return ["--conf", str(path)]


def test_lines_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "history.db"
    slow = row(2, "sales.orders", text="SELECT\n  2", seconds=30.0, rule="DC-R5", cluster="east")
    HistoryStore(str(store)).put([row(1), slow, row(3, code="CW104")], {})
    options = settings(tmp_path, str(store))
    assert main(["history", *options, "--limit", "2"]) == 0
    head, refused, ran, more = capsys.readouterr().out.splitlines()
    assert head.split()[:5] == ["TIME", "STATEMENT", "USER", "STATE", "SECONDS"]
    assert refused.split()[6:8] == ["-", "CW104"]
    assert ran.split()[1:] == [
        *("00000002", "ann", "FINISHED", "30.000", "east", "DC-R5", "-", "SELECT", "2")
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
