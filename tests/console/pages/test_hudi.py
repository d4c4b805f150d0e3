"""Timelines of Hudi tables, and what a pull would read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conf.names import TableRef
from console.pages.hudi import moment
from tests.console.browser import Browser, opened
from tests.console.fake_places import placed
from tests.console.fake_sources import fake_sources, open_app
from tests.pipeline.hudi.conftest import FakeTable

NAME = "s.trips"


@pytest.fixture
def trips(tmp_path: Path) -> FakeTable:
    table = FakeTable(tmp_path / "trips", version=9)
    table.commit("20260101000000000", [("ds=1", "a"), ("ds=2", "b")])
    table.commit("20260102000000000", [("ds=2", "b")], deletes=1)
    table.commit("20260103000000000", state="inflight")
    return table


@pytest.fixture
def page(trips: FakeTable) -> Browser:
    sources = fake_sources()
    fake: Any = sources
    for name in (NAME, "s.orders"):
        fake.metastore.put(name, placed())
    fake.metastore.hudi = (TableRef.parse(NAME),)
    fake.hudi.tables = {f"file:/east/{NAME}": trips.path}
    return opened(open_app(sources))


def test_hudi_tables_are_listed(page: Browser) -> None:
    text = page.get("/hudi").text
    assert f"/hudi/{NAME}" in text
    assert "s.orders" not in text
    assert "There is no Hudi table" in page.get("/hudi?search=orders").text


def test_the_timeline_has_every_action_and_what_it_wrote(page: Browser) -> None:
    text = page.get(f"/hudi/{NAME}").text
    rows = text.split('id="timeline"')[1].split("<tbody>")[1]
    assert rows.count("<tr>") == 3
    assert rows.index("20260103000000000") < rows.index("20260101000000000")
    assert ">inflight<" in rows
    assert "upsert" in rows
    assert 'class="mark-running"' in text
    assert "partitioned by ds" in text


def test_a_pull_reads_what_came_after_its_bookmark(page: Browser) -> None:
    text = page.get(f"/hudi/{NAME}?since=20260101000000001").text
    facts = text.split('<dl class="facts">')[1].split("</dl>")[0]
    assert "<dt>Commits</dt><dd>1</dd>" in facts
    assert "since 20260102000000001" in facts
    assert "rows were deleted" in facts
    assert text.count('class="mark-read"') == 2  # the action, and the key of the picture
    nothing = page.get(f"/hudi/{NAME}?since=20260102000000001").text
    assert "Nothing: the table has no complete commit" in nothing


def test_a_range_that_is_none_is_refused_in_words(page: Browser) -> None:
    answer = page.get(f"/hudi/{NAME}?since=yesterday")
    assert answer.status == 200
    assert "yesterday" in answer.text.split('role="alert"')[1]


def test_tables_that_are_no_hudi_tables_or_not_there(page: Browser, trips: FakeTable) -> None:
    assert page.get("/hudi/s.orders").status == 404
    assert page.get("/hudi/s.none").status == 404
    (trips.base / ".hoodie" / "hoodie.properties").unlink()
    answer = page.get(f"/hudi/{NAME}")
    assert answer.status == 503
    assert "No answer from the files of the Hudi table" in answer.text


def test_files_on_hdfs_are_named(page: Browser) -> None:
    fake: Any = page.app.state.sources
    fake.hudi.tables = {f"file:/east/{NAME}": "hdfs://nn/trips"}
    answer = page.get(f"/hudi/{NAME}")
    assert answer.status == 503
    assert "causeway incremental plan" in answer.text


@pytest.mark.parametrize(
    ("instant", "seconds"),
    [("19700101000001", 1.0), ("19700101000001500", 1.5), ("00000000000000000", 0.0)],
)
def test_instants_are_times(instant: str, seconds: float) -> None:
    check: Callable[[str], float] = moment
    assert check(instant) == seconds
