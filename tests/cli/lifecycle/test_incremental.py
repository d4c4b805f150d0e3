"""`causeway incremental`: what it prints and what it leaves behind."""

import json
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.main import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of version 6 with two commits in one partition."""
    base = tmp_path / "trips"
    (base / ".hoodie").mkdir(parents=True)
    (base / ".hoodie" / "hoodie.properties").write_text(
        "hoodie.table.name=trips\nhoodie.table.version=6\nhoodie.table.partition.fields=p\n"
        f"hoodie.table.checksum={zlib.crc32(b'.trips')}\n"
    )
    (base / "p=1").mkdir()
    (base / "p=1" / ".hoodie_partition_metadata").touch()
    for instant, keys in (("100", "ab"), ("200", "bc")):
        name = f"f_1-0-1_{instant}.parquet"
        rows = [
            {"_hoodie_commit_time": instant, "_hoodie_record_key": key,
             "_hoodie_partition_path": "p=1", "v": int(instant)}
            for key in keys
        ]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), base / "p=1" / name)
        stat = {"fileId": "f", "path": f"p=1/{name}", "numWrites": 2}
        commit = {"partitionToWriteStats": {"p=1": [stat]}, "operationType": "UPSERT"}
        (base / ".hoodie" / f"{instant}.commit").write_text(json.dumps(commit))
    return base


def test_plan_as_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incremental", "plan", str(table), "--since", "100", "--json"]) == 0
    file = table / "p=1" / "f_1-0-1_200.parquet"
    assert json.loads(capsys.readouterr().out) == {
        "since": "100",
        "bookmark": "200",
        "commits": ["200"],
        "partitions": ["p=1"],
        "files": [str(file)],
        "bytes": file.stat().st_size,
        "fallback": None,
        "removes_rows": False,
        "held_back_by": None,
    }


def test_a_target_may_be_a_uri_of_a_local_folder(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "pulled"
    assert main(["incremental", "pull", str(table), target.as_uri()]) == 0
    assert list(target.glob("*.parquet"))
    assert not (tmp_path / "file:").exists()


def test_plan_as_text_says_what_full_listing_costs(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["incremental", "plan", str(table), "--since", "100"]) == 0
    shown = capsys.readouterr().out
    assert "--since 200" in shown
    assert "fallback   no" in shown
    assert "cost       1 list calls" in shown
    assert main(["incremental", "plan", str(table), "--since", "000", "--max-commits", "1"]) == 0
    assert "--since 100" in capsys.readouterr().out
    bounded = ["--since", "000", "--until", "100", "--max-commits", "2", "--whole"]
    assert main(["incremental", "plan", str(table), *bounded]) == 0
    shown = capsys.readouterr().out
    assert "--since 100" in shown
    assert "of         1 partitions, 1 files, " in shown
    assert "in full    2 list calls" in shown


def test_pull_goes_on_where_it_ended(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "target"
    words = ["incremental", "pull", str(table), str(target)]
    assert main([*words, "--until", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bookmark"] == "100"
    assert main(words) == 0
    assert "2 rows of 1 commits, 100 to 200" in capsys.readouterr().out
    assert main(words) == 0
    assert "0 rows of 0 commits" in capsys.readouterr().out
    assert pq.read_table(target).num_rows == 4


def test_merge_by_a_key(table: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "target")
    words = ["incremental", "pull", str(table), target, "--mode", "merge"]
    assert main([*words, "--until", "100", "--key", "_hoodie_record_key"]) == 0
    assert main([*words, "--key", "_hoodie_record_key"]) == 0
    rows = {r["_hoodie_record_key"]: r["v"] for r in pq.read_table(target).to_pylist()}
    assert rows == {"a": 100, "b": 200, "c": 200}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["plan", "{}/none", "--since", "0"], "CW801"),
        (["plan", "{}/trips", "--since", "yesterday"], "CW805"),
        (["pull", "{}/trips", "{}/t", "--mode", "merge", "--key", "nothing"], "CW808"),
    ],
)
def test_errors_have_their_code(
    table: Path, tmp_path: Path, words: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["incremental", *(word.format(tmp_path) for word in words)]) == 1
    assert code in capsys.readouterr().err
