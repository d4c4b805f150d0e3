"""`causeway advise --primaries`: its plan, and what of it is applied and taken back."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from advice.copies import Budgets
from advice.primaries import Move
from cli.advice import apply, primaries
from cli.advice.apply import undo
from cli.advice.primaries import PrimaryAdvice
from cli.advice.sources import read_source
from cli.main import build_parser, main
from conf.names import TableRef
from conf.settings.settings import Settings

TABLES = {
    "clusters": ["east", "west"],
    "tables": [
        {
            "ddl": "CREATE TABLE shop.orders (id INT) PARTITIONED BY (k STRING)",
            "primary": "east",
            "partitions": [{"name": "k=1", "copies": ["west"]}, "k=2"],
            "bytes": 1000,
        },
        {"ddl": "CREATE TABLE shop.users (id INT)", "primary": "west", "bytes": 5000},
        {"ddl": "CREATE TABLE shop.`odd-one` (id INT)", "primary": "west", "bytes": 50},
    ],
}
LOG = "USE shop; SELECT * FROM orders JOIN users; SELECT * FROM `odd-one` JOIN orders;"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A log and a description of tables, as arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables.json").write_text(json.dumps(TABLES))
    (tmp_path / "log.sql").write_text(LOG)
    return ["log.sql", "--tables", "tables.json", "--primaries"]


def test_the_plan_says_why_and_how(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", *files]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0.0% of 2.0 statements a day run today, 100.0% with these primaries",
        "move shop.orders from east to west: 2.0 statements a day run then and not today, 0.0 no"
        " longer; its files (1.0 kB) have to be moved while nothing writes it",
        "    causeway copy shop.orders --to west",
        "    USE CLUSTER west;",
        "    CREATE TABLE shop.orders_in_west LIKE shop.orders;",
        "    SET hive.exec.dynamic.partition.mode = nonstrict;",
        "    INSERT INTO shop.orders_in_west SELECT * FROM shop.orders;",
        "    USE CLUSTER east;",
        "    ALTER TABLE shop.orders RENAME TO shop.orders_in_east;",
        "    USE CLUSTER west;",
        "    ALTER TABLE shop.orders_in_west RENAME TO shop.orders;",
    ]


@pytest.mark.parametrize(
    ("budgets", "moved"),
    [
        (["--budget", "west=999"], ["shop.odd-one", "shop.users"]),
        (["--budget", "west=1kB"], ["shop.orders"]),
        (["--link", "east:west=999", "--budget", "east=1kB"], ["shop.odd-one"]),
    ],
)
def test_budgets(
    files: list[str], budgets: list[str], moved: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", *files, *budgets, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["primaries"]
    assert [each["table"] for each in found] == moved
    assert {each["files_stay"] for each in found} == {None}


def test_primaries_are_no_standing_policy(files: list[str]) -> None:
    words = ["advise", "log.sql", "--conf", "c.toml", "--primaries", "--apply", "--every", "24h"]
    assert main(words) == 2


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run; none has an effect."""
    commands: list[str] = []

    def run(*words: str) -> int:
        build_parser([words[0]]).parse_args(words)
        commands.append(" ".join(words))
        return 0

    monkeypatch.setattr(apply, "run_command", run)
    return commands


def advised(
    files: list[str], stays: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[PrimaryAdvice, argparse.Namespace]:
    """The advice where files stay or not, and the arguments to apply it."""

    def files_stay(settings: Settings, moves: Iterable[Move]) -> dict[TableRef, bool]:
        del settings
        return {move.table: stays for move in moves}

    monkeypatch.setattr(primaries, "files_stay", files_stay)
    args = build_parser(["advise"]).parse_args(["advise", *files])
    source = read_source(args)
    source = type(source)(source.stock, Settings(), source.replayed, source.unread)
    args.target = Path("c.toml")
    return PrimaryAdvice(source, Budgets()), args


def test_a_primary_whose_files_stay_is_assigned_and_taken_back(
    files: list[str], ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    advice, args = advised(files, True, monkeypatch)
    (only,) = advice.document()["primaries"]
    assert only["files_stay"]
    assert only["commands"] == [
        "causeway table assign shop.orders --no-copy west",
        "causeway table assign shop.orders --primary west",
    ]
    assert advice.apply(args) == 0
    assert ran == [f"{each[9:]} --conf c.toml" for each in only["commands"]]
    ran.clear()
    assert undo(args) == 0
    assert ran == [
        "table assign shop.orders --primary east --conf c.toml",
        "copy shop.orders --to west --conf c.toml",
    ]


def test_nothing_is_applied_where_files_have_to_be_moved(
    files: list[str],
    ran: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    advice, args = advised(files, False, monkeypatch)
    assert advice.apply(args) == 0
    assert ran == []
    assert "shop.orders: not applied" in capsys.readouterr().out
    assert undo(args) == 0
