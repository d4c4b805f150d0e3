"""`causeway advise`: its plan, budgets, and the commands that carry it out and take it back."""

import argparse
import json
from pathlib import Path

import pytest

from advice.copies import Advice, advice, candidates
from advice.demand import Demand
from advice.errors import BadPlan
from advice.feed_document import feed_document
from advice.solvers.exact import cheapest
from cli.advice import advise, apply
from cli.advice.apply import Applier, undo
from cli.advice.record import record_lock
from cli.main import SUBCOMMANDS, build_parser, main
from pipeline.falcon.documents import document
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.rules import entity_rules
from tests.advice.samples import DATED, outcome
from tests.cli.advice.test_assess import TABLES

INSERT = "INSERT INTO users SELECT id FROM orders WHERE ds >= '2026-04-04'"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A log and a description of tables, as arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables.json").write_text(json.dumps(TABLES))
    (tmp_path / "log.sql").write_text(f"USE shop; {INSERT};")
    return ["log.sql", "--tables", "tables.json"]


def plan() -> list[Advice]:
    found = candidates(DATED, [Demand(outcome(INSERT, DATED).options, 1.0)])
    return advice(found, cheapest(found.problem, 1.0))


def test_the_plan_says_why_and_by_which_command(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", *files, "--share", "1"]) == 0
    shown = capsys.readouterr().out
    assert "make shop.orders the newest 7 days in west: 1.0 statements a day need it" in shown
    assert "causeway copy shop.orders --to west --partition \"ds >= '2026-04-04'\"" in shown


@pytest.mark.parametrize(("budget", "makes"), [("west=70", 1), ("west=69", 0), ("west=1kB", 1)])
def test_budgets(
    files: list[str], budget: str, makes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", *files, "--share", "1", "--budget", budget, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["advice"]) == makes


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--budget", "south=1TB"], 1),
        (["--budget", "west=much"], 1),
        (["--link", "west=1TB"], 1),
        (["--link-cost", "east:west=x"], 1),
        (["--apply"], 2),
        (["--undo"], 2),
        (["--every", "24h"], 2),
    ],
)
def test_wrong_usage(files: list[str], words: list[str], status: int) -> None:
    assert main(["advise", *files, *words]) == status


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run, each checked by its parser; none has an effect."""
    commands: list[str] = []

    def run(*words: str) -> int:
        build_parser([words[0]]).parse_args(words)
        assert words[0] in SUBCOMMANDS
        commands.append(" ".join(word for word in words if not word.endswith(".xml")))
        return int("fails" in words)

    monkeypatch.setattr(apply, "run_command", run)
    return commands


def arguments(tmp_path: Path, **given: object) -> argparse.Namespace:
    return argparse.Namespace(
        **{
            "record": tmp_path / "advice.json",
            "target": "c.toml",
            "copy_options": "",
            "schedule": False,
            "store": "s.db",
            "user": "ann",
            **given,
        }
    )


def test_apply_and_undo(tmp_path: Path, ran: list[str]) -> None:
    args = arguments(tmp_path, copy_options="--master yarn")
    assert Applier(args, DATED).apply(plan()) == 0
    assert ran == [
        "copy shop.orders --to west --partition ds >= '2026-04-04' --conf c.toml --master yarn"
    ]
    ran.clear()
    assert undo(args) == 0
    (taken,) = ran
    assert taken.startswith("table assign shop.orders --no-copy west --partition ds=2026-04-04")
    assert taken.count("--partition") == 7
    ran.clear()
    assert undo(args) == 0
    assert ran == []


def test_undo_begins_with_what_was_done_last(tmp_path: Path, ran: list[str]) -> None:
    args = arguments(tmp_path, schedule=True)
    assert Applier(args, DATED).apply(plan()) == 0
    assert [each.split()[:2] for each in ran] == [
        ["copy", "shop.orders"],
        ["entity", "submit"],
        ["entity", "schedule"],
    ]
    ran.clear()
    assert undo(args) == 0
    assert [each.split()[:2] for each in ran] == [["entity", "delete"], ["table", "assign"]]


def test_what_failed_is_not_recorded_and_what_cannot_be_undone_stays(
    tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = arguments(tmp_path)
    monkeypatch.setattr(apply, "run_command", lambda *_: 1)
    assert Applier(args, DATED).apply(plan()) == 1
    assert undo(args) == 0
    monkeypatch.setattr(apply, "run_command", lambda *_: 0)
    assert Applier(args, DATED).apply(plan()) == 0
    monkeypatch.setattr(apply, "run_command", lambda *_: 1)
    assert undo(args) == 1
    monkeypatch.setattr(apply, "run_command", lambda *_: 0)
    assert undo(args) == 0


def test_a_schedule_is_a_feed_that_falcon_takes_and_evicts_only_copies() -> None:
    (only,) = plan()
    table = DATED.stock_of(only.table)
    assert table is not None
    made = feed_document(only, table, "ann")
    assert made is not None
    feed = document.read(made.text.encode())
    assert isinstance(feed, Feed)
    assert entity_rules.alone(feed) == ()
    assert "catalog:shop:orders#ds=${YEAR}-${MONTH}-${DAY}" in made.text
    assert made.text.count('limit="days(7)"') == 1
    source, target = made.text.split("</cluster>")[:2]
    assert 'type="source"' in source
    assert 'limit="months(1200)"' in source
    assert 'name="west" type="target"' in target
    assert 'start="2026-04-04T00:00Z"' in target


def test_only_one_process_applies_advice(tmp_path: Path) -> None:
    path = tmp_path / "advice.json"
    with record_lock(path), pytest.raises(BadPlan), record_lock(path):
        pass
    with record_lock(path):
        pass


def test_a_standing_policy_keeps_what_runs_nearly_enough() -> None:
    parser = build_parser(["advise"])
    once = parser.parse_args(["advise", "--tables", "t.json"])
    standing = parser.parse_args(["advise", "--conf", "c.toml", "--apply", "--every", "24h"])
    assert (advise.policy_of(once).hysteresis, advise.policy_of(standing).hysteresis) == (0.0, 0.02)
