"""`causeway entity` says what it finds and keeps what is sound."""

from pathlib import Path

import pytest

from conf.errors import CausewayError
from tests.cli.lifecycle.commands import causeway
from tests.pipeline.falcon.documents import CLUSTER, FALCON, FEED, PROCESS, needs_documents


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAUSEWAY_STORE", str(tmp_path / "l.db"))
    made = {
        "c1": CLUSTER.replace("{name}", "c1"),
        "c2": CLUSTER.replace("{name}", "c2"),
        "feed": FEED,
        "process": PROCESS,
    }
    for name, text in made.items():
        # nothing listens there: the metastores are asked when the feed is scheduled
        (tmp_path / f"{name}.xml").write_text(text.replace("localhost:9083", "127.0.0.1:1"))
    return {name: f"{name}.xml" for name in made}


def test_validate_says_one_line_a_file(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert causeway("entity", "validate", *files.values()) == 0
    assert capsys.readouterr().out.splitlines() == [f"{f}: valid" for f in files.values()]


def test_validate_names_file_line_element_and_reason(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(files["feed"])
    path.write_text(path.read_text().replace("hours(1)", "hours(x)").replace("days(2)", "days(0)"))
    assert causeway("entity", "validate", "--document-only", str(path), "none.xml") == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("feed.xml:4: frequency: 'hours(x)' is not")
    assert first.endswith("(and 1 more: --all)")
    assert second == "none.xml:1: document: cannot be read: No such file or directory"
    assert causeway("entity", "validate", "--document-only", "--all", str(path)) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_references_count_only_without_document_only(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert causeway("entity", "validate", "--document-only", files["feed"]) == 0
    assert causeway("entity", "validate", files["feed"]) == 1
    assert "no cluster c1 is known" in capsys.readouterr().out
    assert not Path("l.db").exists()
    assert causeway("entity", "submit", files["c1"], files["c2"]) == 0
    assert causeway("entity", "validate", files["feed"]) == 0


@needs_documents
def test_falcon_verdicts_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [r.split("\t") for r in (FALCON / "MANIFEST.tsv").read_text().splitlines()]
    rows = [row for row in rows if not row[0].startswith("#")]
    paths = [str(FALCON / "apache-falcon-470e5e9f" / row[0]) for row in rows]
    assert causeway("entity", "validate", "--document-only", *paths) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows) > 60
    for row, path, line in zip(rows, paths, lines, strict=True):
        assert line.startswith(f"{path}:")
        assert line.endswith(": valid") == row[1].endswith(" VALID"), line


@needs_documents
def test_placeholders_are_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in sorted((FALCON / "spec004").glob("*.xml"))]
    assert causeway("entity", "validate", *paths) == 1
    assert "placeholder" in capsys.readouterr().out
    filled = ["--set", "cluster=primary-cluster", "--set", "processName=p"]
    assert causeway("entity", "validate", *filled, *paths) == 0


def test_eval(capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("entity", "eval", "today(3,20)", "--at", "2010-01-02T01:30Z") == 0
    assert capsys.readouterr().out == "2010-01-02T03:20Z\n"
    for text in ("tomorrow(0,0)", "latest(0)"):
        with pytest.raises(CausewayError):
            causeway("entity", "eval", text, "--at", "2010-01-02T01:30Z")


def test_the_life_of_entities(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert causeway("entity", "submit", *reversed(files.values()), "--user", "ann") == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out] == ["cluster", "cluster", "feed", "process"]
    assert causeway("entity", "submit", files["c1"], "--user", "ann") == 0
    assert "already" in capsys.readouterr().out
    assert causeway("entity", "list", "--type", "feed") == 0
    assert capsys.readouterr().out.split() == ["feed", "clicks", "SUBMITTED", "ann"]
    assert causeway("entity", "dependency", "feed", "clicks") == 0
    assert capsys.readouterr().out.splitlines() == [
        "uses cluster c1",
        "uses cluster c2",
        "used by process summary",
    ]
    assert causeway("entity", "definition", "process", "summary") == 0
    assert capsys.readouterr().out == PROCESS
    with pytest.raises(CausewayError, match="CW722"):
        causeway("entity", "schedule", "process", "summary", "--user", "bob")
    with pytest.raises(CausewayError, match="CW723"):
        causeway("entity", "delete", "feed", "clicks", "--user", "ann")
    with pytest.raises(CausewayError, match=r"CW724.*cannot be asked"):
        causeway("entity", "schedule", "feed", "clicks", "--user", "ann")
    when = ("--at", "2013-09-25T00:00Z", "--user", "ann")
    assert causeway("entity", "schedule", "process", "summary", *when) == 0
    assert "24 instances" in capsys.readouterr().out
    for command, status in (("suspend", "SUSPENDED"), ("resume", "RUNNING")):
        assert causeway("entity", command, "process", "summary", "--user", "ann") == 0
        assert causeway("entity", "status", "process", "summary") == 0
        assert status in capsys.readouterr().out
    assert causeway("entity", "update", "feed", "clicks", files["feed"], "--user", "ann") == 0
    assert causeway("entity", "delete", "process", "summary", "--user", "ann") == 0


@pytest.mark.parametrize(("engine", "reason"), [("oozie", "engine oozie"), ("pig", "pig command")])
def test_what_cannot_run_here_is_accepted_and_refused_at_schedule_time(
    files: dict[str, str], engine: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAUSEWAY_PIG", raising=False)
    path = Path(files["process"])
    path.write_text(path.read_text().replace('engine="hive"', f'engine="{engine}"'))
    assert causeway("entity", "submit", *files.values()) == 0
    with pytest.raises(CausewayError, match=f"CW724.*13: workflow: {reason}|CW724.*{reason}"):
        causeway("entity", "schedule", "process", "summary")
