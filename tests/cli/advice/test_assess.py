"""`causeway assess` over files: its text, JSON and page."""

import gzip
import json
from pathlib import Path

import pytest

from advice.demand import TextCounts
from advice.statement_log import Logged
from advice.stock import Stock
from cli.advice import replayer
from cli.advice.replayer import replayed
from cli.main import main
from conf.names import TableRef
from dialect.statement import Namespace
from tests.advice.samples import DATED, JOINS, query, shop

TABLES = {
    "clusters": ["east", "west"],
    "tables": [
        {
            "ddl": "CREATE TABLE shop.orders (id INT) PARTITIONED BY (ds STRING)",
            "primary": "east",
            "bytes": 1000,
            "days": {"first": "2026-01-01", "last": "2026-04-10"},
        },
        {
            "ddl": "CREATE TABLE shop.users (id INT)",
            "primary": "west",
            "bytes": 50,
            "written_a_day": 50,
        },
    ],
}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A log and a description of tables, as arguments."""
    tables = tmp_path / "tables.json"
    tables.write_text(json.dumps(TABLES))
    log = tmp_path / "log.sql.gz"
    with gzip.open(log, "wt") as file:
        file.write("USE shop; SELECT 1; SELECT * FROM orders JOIN users WHERE ds = '2026-04-10';\n")
        file.write("SELECT * FROM nowhere; SELECT FROM WHERE;")
    return [str(log), "--tables", str(tables), "--processes", "1"]


def test_a_sample_counts_for_all_statements(
    tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "many.sql"
    log.write_text("".join(f"SELECT * FROM shop.users WHERE id = {n};\n" for n in range(2_000)))
    sampled = [str(log), *files[1:], "--json", "--sample", "0.1"]
    assert main(["assess", *sampled]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["texts"] == found["statements"] == pytest.approx(200, rel=0.2)
    assert found["statements_a_day"] == pytest.approx(2_000, rel=0.2)
    assert main(["assess", *sampled]) == 0
    assert json.loads(capsys.readouterr().out) == found


@pytest.mark.parametrize("share", ["0", "1.5", "half"])
def test_a_sample_is_a_share(share: str, files: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["assess", *files, "--sample", share])


def test_json(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assess", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["statements"] == 5
    assert found["verdicts"] == {
        "runs": 2,
        "refused": 1,
        "not understood": 1,
        "names tables that are not known": 1,
    }
    assert (found["share_today"], found["share_with_all_copies"]) == (0.4, 0.6)
    (copy,) = found["points"][-1]["copies"]
    assert (copy["table"], copy["to"], copy["filter"]) == (
        "shop.orders",
        "west",
        "ds >= '2026-04-10'",
    )
    assert copy["bytes"] == 10


def test_text_and_page(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["assess", *files, "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "5 statements (5 texts, 5 templates)" in shown
    assert "east lacks shop.users; west lacks shop.orders" in shown
    assert "shop.orders the newest 1 day to west: 10 bytes" in shown
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("log", "code"), [("missing.sql", "CW522"), ("empty.sql", "CW522"), ("x.lz4", "CW522")]
)
def test_logs_that_cannot_be_read(
    files: list[str], log: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.sql").write_text("-- nothing\n")
    assert main(["assess", str(tmp_path / log), *files[1:]]) == 1
    assert code in capsys.readouterr().err


def test_processes_give_the_same_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayer, "_CHUNK", 7)
    monkeypatch.setattr(replayer, "_FEW", 10)
    tally, names = TextCounts(), Namespace("shop")
    for day in range(3):
        for each in JOINS:
            tally.add(Logged(query(each, day)), names)
    one, two = (dict(replayed(tally, shop(1), None, processes)) for processes in (1, 2))
    assert one == two
    assert len(one) == 3 * len(JOINS)


def test_tables_are_loaded_when_statements_need_them() -> None:
    tables = dict.fromkeys(DATED.tables, DATED.tables[TableRef("shop", "users")])
    tables.clear()
    stock = Stock(DATED.clusters, DATED.default, tables, complete=False)
    loads = []

    def load(refs: object) -> None:
        loads.append(sorted(map(str, refs)))  # type: ignore[call-overload]
        tables.update({ref: DATED.tables.get(ref) for ref in refs})  # type: ignore[attr-defined]

    tally, names = TextCounts(), Namespace("shop")
    for sql in ("SELECT * FROM recent", "SELECT * FROM recent LIMIT 1", "SELECT * FROM gone"):
        tally.add(Logged(sql), names)
    found = dict(replayed(tally, stock, load, 1))
    assert len(found) == 3
    assert loads == [["shop.gone", "shop.recent"], ["shop.orders"]]
