"""The console in a real browser, on a real stack."""

import re
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.main import main
from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Connect, Sql, server
from tests.e2e.console.conftest import Watched, submit

pytestmark = pytest.mark.e2e
COPIED = 600_000  # milliseconds for a copy, which starts a JVM; usually 20,000


@pytest.fixture
def refused(db: str, sql: Sql) -> str:
    """The refused join of a table of c1 and one of c2."""
    sql(f"USE CLUSTER {C1}", f"CREATE TABLE {db}.orders USING parquet AS SELECT id AS customer,"
        " id * 7 AS amount FROM range(20)")  # fmt: skip
    sql(f"USE CLUSTER {C2}", f"CREATE TABLE {db}.visits USING parquet AS SELECT id AS customer,"
        " concat('page ', id % 3) AS page FROM range(20)")  # fmt: skip
    join = (
        f"SELECT page, sum(amount) AS amount FROM {db}.orders JOIN {db}.visits USING (customer)"
        " GROUP BY page ORDER BY page"
    )
    with pytest.raises(OperationalError, match="CW104"):
        sql(join)
    return join


def test_the_copy_button_lets_a_refused_statement_run(
    chromium: Watched, db: str, refused: str, sql: Sql
) -> None:
    page = chromium.page
    chromium.open("/refusals")
    chromium.picture("login")
    chromium.log_in("ada")
    group = page.locator("article").filter(has_text=f"{db}.visits")
    chromium.open_until("/refusals", group)
    chromium.picture("refusals")
    group.get_by_role("link", name="Why it was refused").click()
    page.get_by_role("heading", name=re.compile("Refused with CW104")).wait_for()
    assert page.locator("pre.sql mark").all_inner_texts() == [f"{db}.orders", f"{db}.visits"]
    assert "inputs" in page.locator("li.decided").inner_text()
    assert page.locator("table.matrix tbody tr").count() == 2
    chromium.picture("statement-refused")
    # As a new user, to whom `causeway up` shows the address of this page.
    chromium.open(f"/where?{urlencode({'sql': refused})}")
    assert "not known" not in page.locator(".ways").inner_text()  # the sizes of both
    copy_to_c1(chromium, picture="copying")
    page.get_by_role("link", name="See what can run now").click()
    page.get_by_role("heading", name=f"It would run in {C1}").wait_for()
    page.get_by_role("button", name="Run it as ada").click()
    page.get_by_text("3 rows").wait_for()
    chromium.open("/refusals")
    group.get_by_text(f"It can run now, in {C1}").wait_for()
    chromium.picture("freed")
    look_at_the_copy(chromium, db, sql, refused)


def copy_to_c1(chromium: Watched, picture: str) -> None:
    """Presses the button of a page that says how the statement could run, and waits."""
    way = chromium.page.locator("section.way").filter(has_text=f"run in {C1}")
    way.get_by_role("button", name=f"Copy to {C1}").click()
    chromium.page.get_by_text("copying").wait_for()
    chromium.picture(picture)
    chromium.page.locator(".badge.finished").wait_for(timeout=COPIED)


def look_at_the_copy(chromium: Watched, db: str, sql: Sql, refused: str) -> None:
    """The screens of tables, after a copy of `visits` was made: it is fresh, stale, fresh again."""
    page = chromium.page
    chromium.open(f"/freshness?database={db}")
    row = page.locator("tr").filter(has_text=f"{db}.visits")
    row.locator(".state.fresh").wait_for()
    chromium.picture("freshness")
    sql(f"INSERT INTO {db}.visits VALUES (99, 'page 9')")
    row.get_by_role("link", name=f"{db}.visits").click()
    page.locator(".state.stale").first.wait_for()
    chromium.picture("freshness-stale")
    chromium.open(f"/where?{urlencode({'sql': refused})}")
    copy_to_c1(chromium, picture="copying-again")
    chromium.open(f"/freshness?database={db}")
    row.locator(".state.fresh").wait_for()
    chromium.open("/lag")
    copied = page.locator("tr").filter(has_text=f"{db}.visits")
    copied.filter(has_text=C1).first.wait_for()
    chromium.picture("lag")
    sql(f"CREATE TABLE {db}.sums USING parquet AS SELECT sum(amount) AS a FROM {db}.orders")
    drawn = page.locator("svg").get_by_text(f"{db}.sums")
    chromium.open_until(f"/lineage?table={db}.orders", drawn)
    chromium.picture("lineage")


def test_a_statement_is_explained_and_run_as_the_user(chromium: Watched, db: str, sql: Sql) -> None:
    page = chromium.page
    sql(
        f"CREATE TABLE {db}.t USING parquet AS"
        " SELECT id, concat('n', id % 5) AS name FROM range(1200)"
    )
    chromium.log_in("ann")
    page.wait_for_url("**/where")
    assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == ["Where"]
    page.get_by_label("SQL, or the name of a table").fill(f"{db}.t")
    page.get_by_role("button", name="Show where").click()
    page.get_by_role("heading", name="It would run in c1").wait_for()
    assert page.locator("table.matrix tbody td").all_inner_texts()[0].startswith("primary")
    page.get_by_role("button", name="Run it as ann").click()
    page.get_by_text("1\u202f000 rows, and there are more").wait_for()
    query = f"SELECT name, count(*) AS n FROM {db}.t GROUP BY name ORDER BY name"
    page.get_by_label("SQL, or the name of a table").fill(query)
    page.get_by_role("button", name="Run it as ann").click()
    page.get_by_text("5 rows").wait_for()
    assert page.locator("#run td").all_inner_texts()[:2] == ["n0", "240"]
    assert page.locator("#run svg").count() == 1
    chromium.picture("where")
    page.get_by_label("SQL, or the name of a table").fill("SELECT * FROM nowhere.t")
    page.get_by_role("button", name="Run it as ann").click()
    page.locator("#run .note.failed").wait_for()
    chromium.open("/refusals")
    page.get_by_text("console.viewers").wait_for()
    chromium.lines.clear()  # the browser says that the page was answered by 403


def test_a_failed_instance_is_shown_and_run_again(
    chromium: Watched, lifecycle: Path, db: str, sql: Sql
) -> None:
    page = chromium.page
    chromium.log_in("ada")
    failed = page.locator("#list tr").filter(has=page.locator(".state.failed"))
    chromium.open_until("/feeds/process/report", failed)
    assert "nowhere" in failed.inner_text()
    chromium.picture("process-failed")
    chromium.open("/feeds")
    page.locator("#entities").get_by_role("link", name="report").wait_for()
    chromium.picture("feeds")
    lifecycle.write_text("SELECT 1")
    chromium.open("/feeds/process/report")
    failed.get_by_role("button", name="rerun").click()
    chromium.open_until("/feeds/process/report", page.locator("#list").get_by_text("succeeded"))
    chromium.picture("process-rerun")
    sql(f"USE CLUSTER {C1}", f"CREATE TABLE {db}.clicks USING parquet PARTITIONED BY (ds) AS"
        f" SELECT id, '{datetime.now(UTC):%Y-%m-%d}' AS ds FROM range(9)")  # fmt: skip
    make_a_feed(chromium, f"{db}.clicks", lifecycle.parent)


def make_a_feed(chromium: Watched, table: str, folder: Path) -> None:
    """A feed is filled in, submitted as the page says, and copies the table's partition of today;
    `folder` has the lifecycle's store."""
    page, today = chromium.page, f"{datetime.now(UTC):%Y-%m-%dT00:00Z}"
    chromium.open("/new?kind=feed")
    form = {"Name": "clicks", "Every": "days(1)", "Partition": "ds=${YEAR}-${MONTH}-${DAY}"}
    for label, value in {**form, "Table": table, "From": today, "Copied to": "nowhere"}.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_text("Not valid").wait_for()
    assert "nowhere" in page.locator("#problems").inner_text()
    page.get_by_label("Copied to", exact=True).fill(C2)
    page.get_by_text("Valid", exact=True).wait_for()
    chromium.picture("new-feed")
    (folder / "feed.xml").write_text(page.get_by_label("Document").input_value())
    store = str(folder / "lifecycle.db")
    submit(folder / "feed.xml", store, {})
    assert main(["entity", "schedule", "feed", "clicks", "--store", store]) == 0
    copied = page.locator("#list tr").filter(has_text=today).filter(has_text="replicate")
    chromium.open_until("/feeds/feed/clicks", copied.filter(has_text="succeeded"))
    chromium.picture("feed")
    chromium.open(f"/freshness?search={table}")
    page.locator("tr").filter(has_text=table).locator(".state.fresh").wait_for()


def test_running_statements_are_listed_and_can_be_killed(
    chromium: Watched, connect: Connect, stack: Stack
) -> None:
    page = chromium.page
    chromium.log_in("ada")
    chromium.open("/live")
    endpoint = server(stack, None)
    with closing(hive.connect(endpoint.host, endpoint.port, username="eve")) as connection:
        cursor = connection.cursor()
        slow = "SELECT count(*) FROM range(1000000000000)"
        cursor.execute(slow, async_=True)
        row = page.locator("#live tbody tr").filter(has_text="range(1000000000000)")
        row.wait_for()
        page.locator("svg.lanes .bar.running").first.wait_for()
        chromium.picture("live")
        row.get_by_role("button", name="Kill").click()
        row.wait_for(state="detached")
    chromium.open("/map")
    page.locator("svg.map").wait_for()
    assert page.locator("table.data tbody tr").count() == 3
    chromium.picture("map")
    chromium.open_until("/statements?user=eve", page.locator(".badge.cancelled"))
    chromium.picture("statements")
    page.locator("td.text a").first.click()
    page.get_by_role("heading", name=re.compile("Cancelled in c1")).wait_for()
    chromium.picture("statement-cancelled")
