"""Feeds and processes: grids, agreements, actions and their audit."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from console.facts.instances import Agreement, agreement_of, hours_before, rows_of_schedules
from console.pages.entities import days_of, list_parameters
from console.sources import Sources, entity_reader
from console.sources.entity_reader import EntityReader
from tests.console.browser import Browser, opened
from tests.console.fake_places import behind, entities, instance
from tests.console.fake_sources import PASSWORD, app_with_passwords, fake_sources, open_app

NOW = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
LATE = Agreement("slaHigh", timedelta(hours=3))


def filled() -> Sources:
    sources = fake_sources()
    fake: Any = sources.lifecycle
    fake.stored = entities()
    fake.behind = [behind(9400.0)]
    fake.known = [
        instance(0, "WAITING"),
        instance(1, "RUNNING"),
        instance(5, "FAILED"),
        instance(9),
    ]
    return sources


def test_a_stack_trace_is_shown_by_its_beginning() -> None:
    """As a whole it would move the buttons of the instance out of sight."""
    sources: Any = filled()
    sources.lifecycle.known = [instance(5, "FAILED", detail=f"[CW762] no table {'x' * 2000} end")]
    for path in ("/feeds/feed/clicks", "/lag"):
        text = opened(open_app(sources)).get(path).text
        found = re.search(r"<summary>(\[CW762\] no table x+…)</summary>\[CW762\].* end<", text)
        assert found is not None, path
        assert len(found[1]) == 201
    sources.lifecycle.known = [instance(5, "FAILED", detail="[CW762] no table")]
    assert '<td class="path">[CW762] no table</td>' in opened(open_app(sources)).get("/lag").text


def test_each_schedule_is_a_row_of_hours_with_the_worst_state() -> None:
    hours = hours_before(NOW, 3)
    assert [hour.hour for hour in hours] == [10, 11, 12]
    made = [
        instance(0, state, instance=f"2026-01-31T11:{minute:02}Z")
        for minute, state in ((0, "SUCCEEDED"), (20, "FAILED"), (40, "SUCCEEDED"))
    ]
    [row] = rows_of_schedules(made, hours, {}, NOW)
    assert row.label == "clicks: replicate c1 to c2"
    empty, cell, other = row.cells
    assert (empty, other) == (None, None)
    assert cell is not None
    assert (cell.state, cell.count) == ("FAILED", 3)
    assert cell.link == "/feeds/feed/clicks?start=2026-01-31T11:00Z&hours=1#instances"


@pytest.mark.parametrize(
    ("state", "nominal", "ended", "missed"),
    [
        ("SUCCEEDED", "09:00", "11:59", False),
        ("SUCCEEDED", "09:00", "12:01", True),
        ("WAITING", "09:30", None, False),
        ("WAITING", "09:29", None, True),
        ("RUNNING", "09:00", None, True),
        ("FAILED", "11:00", "11:10", False),
        ("FAILED", "09:00", "09:10", True),
        ("SKIPPED", "01:00", None, False),
    ],
)
def test_an_agreement_is_missed(state: str, nominal: str, ended: str | None, missed: bool) -> None:
    one = instance(0, state, instance=f"2026-01-31T{nominal}Z")
    one["ended"] = ended and f"2026-01-31T{ended}Z"
    assert LATE.is_missed(one, NOW) is missed


def test_agreements_come_from_the_documents() -> None:
    known = EntityReader().read(entities())
    found = agreement_of(known["feed", "clicks"], ("feed", "clicks", "replicate", "c2", "c1"))
    assert found == LATE
    assert agreement_of(known["feed", "clicks"], ("feed", "clicks", "evict", "c2", "")) is None
    process = ("process", "summary", "process", "c1", "")
    assert agreement_of(known["process", "summary"], process) is None


def test_a_document_is_parsed_again_only_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    read, parsed = entity_reader.document.read, []

    def counted(data: bytes) -> Any:
        parsed.append(data)
        return read(data)

    monkeypatch.setattr(entity_reader.document, "read", counted)
    reader, documents = EntityReader(), entities()
    first = reader.read(documents)
    assert len(parsed) == len(documents)
    assert reader.read(entities()) == first
    assert len(parsed) == len(documents)
    parsed.clear()
    changed = documents[-1]["document"].replace("<process ", "<process  ")
    again = reader.read([*documents[:-1], documents[-1] | {"document": changed}])
    assert again.keys() == first.keys()
    assert parsed == [changed.encode()]
    assert reader.read([{"kind": "feed", "name": "x", "document": "<feed/>"}]) == {}


def test_the_list_counts_failures_and_missed_agreements() -> None:
    text = opened(open_app(filled())).get("/feeds").text
    assert ">clicks</a>" in text
    assert "2.6 h" in text
    assert 'class="i-failed"' in text
    assert '<span class="state failed">1</span>' in text
    assert '<span class="state stale">1</span>' in text


def test_an_entity_shows_its_grid_its_instances_and_its_document() -> None:
    text = opened(open_app(filled())).get("/feeds/feed/clicks").text
    assert "replicate c1 to c2" in text
    assert "no space left" in text
    assert "catalog:src:clicks" in text
    assert 'action="/feeds/feed/clicks/instances/rerun"' in text
    assert 'action="/feeds/feed/clicks/suspend"' in text


def test_a_failed_instance_is_rerun() -> None:
    sources = filled()
    fake: Any = sources.lifecycle
    failed = next(each for each in fake.known if each["state"] == "FAILED")
    form = {
        "start": failed["instance"],
        "action": "replicate",
        "cluster": "c2",
        "source": "c1",
        "state": "FAILED",
        "back": "?days=14&done=old",
    }
    page = opened(open_app(sources))
    answer = page.post("/feeds/feed/clicks/instances/rerun", form)
    assert answer.status == 303
    assert answer.headers["location"] == "/feeds/feed/clicks?days=14&done=rerun%3A+1+changed"
    assert fake.changes[0][:3] == ("feed", "clicks", "rerun")
    assert not any("force" in each for each in fake.changes[0])
    text = page.get(answer.headers["location"]).text
    assert "rerun: 1 changed" in text
    assert failed["state"] == "WAITING"


def test_a_rerun_of_what_succeeded_is_forced() -> None:
    sources = filled()
    fake: Any = sources.lifecycle
    form = {"start": fake.known[-1]["instance"], "state": "SUCCEEDED"}
    opened(open_app(sources)).post("/feeds/feed/clicks/instances/rerun", form)
    assert "force=true" in fake.changes[0]


def test_what_the_lifecycle_refuses_is_shown() -> None:
    page = opened(open_app(filled()))
    form = {"start": "2026-01-31T00:00Z", "state": "WAITING"}
    answer = page.post("/feeds/feed/clicks/instances/kill", form)
    assert "feed clicks cannot kill" in page.get(answer.headers["location"]).text
    assert page.post("/feeds/feed/none/suspend").status == 409
    assert page.post("/feeds/feed/clicks/dance").status == 404
    assert page.post("/feeds/feed/clicks/instances/dance").status == 404


def test_actions_need_an_operator_and_are_in_the_audit_log(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    app = app_with_passwords(tmp_path, filled(), proxy__audit__file=str(file))
    form = {"start": "2026-01-31T00:00Z", "state": "FAILED"}
    for user, status in (("ann", 403), ("vic", 403), ("olga", 303)):
        page = Browser(app)
        page.log_in(user, PASSWORD)
        assert page.post("/feeds/feed/clicks/instances/rerun", form).status == status
        assert page.post("/feeds/feed/clicks/suspend").status == status
        text = page.get("/feeds/feed/clicks").text
        assert ("instances/rerun" in text) == (user == "olga")
    app.state.audit.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    done = [(x["by"], x["action"], x["argument"]) for x in lines if x["event"] == "administration"]
    assert done == [
        ("olga", "rerun-instance", "feed clicks 2026-01-31T00:00Z"),
        ("olga", "suspend-entity", "feed clicks"),
    ]


def test_what_retention_would_drop_and_the_log_are_shown_when_they_are_asked_for() -> None:
    sources = filled()
    fake: Any = sources.lifecycle
    plan = {
        "table": "src.clicks",
        "cutoff": "",
        "condition": "ds < '2026-01-01'",
        "drop": 3,
        "drop_copies": 1,
        "kept": 30,
        "needed": 2,
        "undated": 0,
        "first": ["drop ds=2025-12-31"],
    }
    fake.plans = [{"cluster": "c1", "plan": plan}, {"cluster": "c2", "plan": None}]
    fake.entries = [
        {"at": "", "action": "replicate", "cluster": "c2", "what": "failed", "message": "disk full"}
    ]
    page = opened(open_app(sources))
    plain = page.get("/feeds/feed/clicks").text
    assert "disk full" not in plain
    assert "drop ds=2025-12-31" not in plain
    assert "drop ds=2025-12-31" in page.get("/feeds/feed/clicks?retention=1").text
    assert "disk full" in page.get("/feeds/feed/clicks?log=2026-01-31T00:00Z").text


def test_a_lifecycle_that_is_down_and_entities_that_are_not_there() -> None:
    sources = fake_sources()
    page = opened(open_app(sources))
    assert "no feeds or processes yet" in page.get("/feeds").text
    assert page.get("/feeds/feed/none").status == 404
    sources.lifecycle.down = True  # type: ignore[attr-defined]
    for path in ("/feeds", "/feeds/feed/clicks", "/new?kind=feed"):
        answer = page.get(path)
        assert answer.status == 503, path
        assert "No answer from the lifecycle" in answer.text


def test_the_days_and_the_list_follow_the_query() -> None:
    assert [day.day for day in days_of({"until": "2026-01-03"}, NOW)][:3] == [3, 2, 1]
    assert len(days_of({"days": "31"}, NOW)) == 31
    assert len(days_of({"days": "9999", "until": "never"}, NOW)) == 7
    found = list_parameters({"start": "2026-01-31T11:00Z", "hours": "1", "state": "FAILED"})
    assert ("end", "2026-01-31T12:00Z") in found
    assert ("state", "FAILED") in found
    assert list_parameters({"start": "yesterday"}) == [("limit", "50")]


def test_a_page_of_31_busy_days_is_at_most_250_kb() -> None:
    sources = filled()
    fake: Any = sources.lifecycle
    fake.known = [instance(hours) for hours in range(31 * 24)]
    page = opened(open_app(sources))
    assert len(page.get("/feeds/feed/clicks?days=31").body) < 250_000
    assert len(page.get("/feeds").body) < 250_000
