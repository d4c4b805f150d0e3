"""The screens of one statement, of what runs, and of where a statement would run."""

from pathlib import Path
from typing import Any

import pytest

from console.pages.live import bar_of, lanes_of
from console.pages.statements import headline, now_words, state_of
from console.pages.where import statement_of
from console.sources import Sources
from console.sources.sql_client import RunState
from tests.console.browser import Browser
from tests.console.fake_sources import (
    PASSWORD,
    app_with_passwords,
    considered,
    explained,
    fake_sources,
    obstacle,
    open_app,
    statement,
)

RUNS = {"cluster": "east", "code": "", "refused": False, "rule": "inputs", "error": ""}


def running(number: str, **fields: Any) -> dict[str, Any]:
    """A row of GET /v1/statements."""
    one = statement(number, **RUNS, state="RUNNING", seconds=3.0, because="it has all inputs")
    one |= {"considered": [considered("east", chosen=True)], "reads": ["s.orders"]}
    del one["fingerprint"], one["refused"], one["closed"], one["proxy"]
    return one | fields


def browser_of(sources: Sources) -> Browser:
    browser = Browser(open_app(sources))
    browser.csrf = browser.app.state.access.session(None).csrf
    return browser


def test_a_refused_statement_has_its_rules_its_tables_and_its_id() -> None:
    sources: Any = fake_sources()
    one = statement("a1b2")
    sources.history.statements = [one]
    sources.proxies.explained = {one["text"]: explained()}
    text = browser_of(sources).get("/statements/a1b2").text
    assert "Refused with CW104" in text
    assert (
        '<mark class="absent" title="s.orders – east: primary, west: absent">s.orders</mark>'
        in text
    )
    assert text.count('class="decided"') == 1
    assert "s.visits is not there" in text
    assert "a1b2" in text
    assert "gateway7" in text


def test_a_statement_that_would_run_now_says_so() -> None:
    sources: Any = fake_sources()
    one = statement("a")
    sources.history.statements = [one]
    sources.proxies.explained = {one["text"]: explained("run", "west")}
    assert "It would run now, in west." in browser_of(sources).get("/statements/a").text


def test_a_statement_whose_text_is_cut_is_not_explained_by_a_part_of_it() -> None:
    sources: Any = fake_sources()
    one = statement("a", length=10_000)
    sources.history.statements = [one]
    sources.proxies.explained = {one["text"]: explained("run", "west")}
    text = browser_of(sources).get("/statements/a").text
    assert "the text is too long to be kept complete" in text
    assert "would run now" not in text


def test_a_running_statement_can_be_killed_by_its_page() -> None:
    sources: Any = fake_sources()
    sources.proxies.running = [running("a")]
    browser = browser_of(sources)
    assert 'action="/statements/a/kill"' in browser.get("/statements/a").text
    assert browser.post("/statements/a/kill").status == 303
    assert sources.proxies.killed == ["a"]


def test_a_statement_that_is_nowhere_is_not_found() -> None:
    assert browser_of(fake_sources()).get("/statements/a").status == 404


def test_a_proxy_that_is_down_is_named_where_the_statement_is_not_in_the_history() -> None:
    sources: Any = fake_sources()
    sources.proxies.down = True
    answer = browser_of(sources).get("/statements/a")
    assert answer.status == 503
    assert "No answer from the proxy" in answer.text
    assert "127.0.0.1:10099: Connection refused" in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("fields", "words", "state"),
    [
        ({}, "Refused with CW104", "refused"),
        (RUNS | {"state": "FINISHED", "seconds": 2}, "Ran in east, 2.00 s", "finished"),
        (RUNS | {"state": "FINISHED", "cluster": ""}, "Answered by Causeway, 4.0 ms", "finished"),
        (RUNS | {"state": "CANCELED"}, "Cancelled in east, 4.0 ms", "cancelled"),
        (RUNS | {"state": "ERROR"}, "Failed in east, 4.0 ms", "failed"),
        (RUNS | {"state": "RUNNING", "seconds": None}, "Running in east", "running"),
        (
            RUNS | {"state": "ERROR", "code": "CW361", "phases": {"execute": 1}},
            "Failed in east, 4.0 ms",
            "failed",
        ),
    ],
)
def test_outcomes(fields: dict[str, Any], words: str, state: str) -> None:
    one = statement("a", **fields)
    assert (headline(one), state_of(one)) == (words, state)


def test_the_page_says_where_the_decision_differs_now() -> None:
    ran = statement("a", **RUNS)
    assert now_words(ran, explained("run", "east")) == ""
    assert now_words(ran, explained("run", "west")) == "It would run in west now."
    assert now_words(ran, explained()).startswith("It would be refused now: because")
    assert now_words(statement("a"), explained()) == ""
    assert now_words(statement("a"), None) == ""


def test_the_search_keeps_its_filters_in_the_address() -> None:
    sources: Any = fake_sources()
    sources.history.statements = [statement("a1b2")]
    text = browser_of(sources).get("/statements?user=ann&refused=true&table=&slower_than=2").text
    [asked] = sources.history.asked
    assert asked == {"user": "ann", "refused": "true", "slower_than": "2", "limit": "50"}
    assert 'value="ann"' in text
    assert 'href="/statements/a1b2"' in text


def test_live_has_a_lane_for_each_cluster_and_the_reason_of_each_statement() -> None:
    sources: Any = fake_sources()
    sources.proxies.running = [running("a"), running("b", cluster="", because="")]
    sources.history.statements = [statement("c", **RUNS)]
    text = browser_of(sources).get("/live").text
    for words in ("east", "west", "in no cluster", "it has all inputs", "not decided yet"):
        assert words in text
    assert text.count("/kill") >= 2


def test_live_shows_what_it_knows_and_names_what_is_down() -> None:
    sources: Any = fake_sources()
    sources.proxies.down = True
    sources.history.statements = [statement("c", **RUNS)]
    text = browser_of(sources).get("/live").text
    assert "Connection refused" in text
    assert 'href="/statements/c"' in text


def test_viewers_who_may_do_the_same_share_one_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.live._FRESH", 3600.0)
    sources: Any = fake_sources()
    app = app_with_passwords(tmp_path, sources)
    browsers = {user: Browser(app) for user in ("vic", "olga", "ada")}
    for number, (user, browser) in enumerate(browsers.items()):
        browser.log_in(user, PASSWORD)
        sources.proxies.running = [running(f"s{number}")]
        text = browser.get("/live").text
        picture = text[text.index('id="live"') :].partition("</main>")[0]
        assert "/statements/s0" in picture if user == "vic" else "/statements/s1/kill" in picture
        assert ("/kill" in picture) == (user != "vic")
        assert browser.csrf not in picture  # it is drawn for others, too
        assert browser.csrf in text


def test_a_statement_that_ended_between_two_answers_is_drawn_once() -> None:
    found = lanes_of([running("a")], [statement("a", **RUNS)], ("east", "west"), 0.0)
    assert [(lane.title, len(lane.bars)) for lane in found] == [("east", 1), ("west", 0)]


def test_the_bar_of_a_running_statement_goes_on_until_now() -> None:
    one = running("a", time="2026-01-31T06:00:00.000Z", phases={"decide": 1.0})
    found = bar_of(one, 1769839200.0 + 9)
    assert (found.seconds, found.phases) == (9.0, {"decide": 1.0, "execute": 8.0})


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("s.orders", "SELECT * FROM s.orders"),
        ("orders;", "SELECT * FROM orders"),
        (" `a b`.`c` ", "SELECT * FROM `a b`.`c`"),
        ("SELECT 1;", "SELECT 1"),
        ("SHOW TABLES", "SHOW TABLES"),
    ],
)
def test_the_name_of_a_table_stands_for_reading_it(text: str, meant: str) -> None:
    assert statement_of(text) == meant


def test_where_shows_the_decision_for_the_statement_of_the_address() -> None:
    sources: Any = fake_sources()
    sources.proxies.explained = {"SELECT * FROM s.orders": explained("run", "east")}
    text = browser_of(sources).get("/where?sql=s.orders").text
    assert "It would run in east" in text
    assert "because of the test" in text
    assert "<textarea" in text


def test_where_says_how_to_begin(tmp_path: Path) -> None:
    assert 'href="/freshness">Freshness</a>' in browser_of(fake_sources()).get("/where").text
    analyst = Browser(app_with_passwords(tmp_path))
    analyst.log_in("ann", PASSWORD)
    text = analyst.get("/where").text
    assert "/freshness" not in text
    assert "SHOW TABLES IN sales" in text


def test_where_offers_the_copies_that_would_free_a_refused_statement() -> None:
    sources: Any = fake_sources()
    sources.proxies.explained = {"SELECT * FROM s.orders": explained()}
    text = browser_of(sources).get("/where?sql=s.orders").text
    assert "It would be refused with CW104" in text
    assert "COPY west TO east" in text
    assert text.count('hx-post="/copies"') == 2


def test_a_refusal_that_no_copy_frees_leads_to_no_copies() -> None:
    sources: Any = fake_sources()
    sources.history.statements = [statement("a", code="CW101", considered=[], rule="unknown")]
    assert (
        "See the copies with which it can run" not in browser_of(sources).get("/statements/a").text
    )


def test_where_says_what_the_proxy_refuses() -> None:
    assert "There is no parameter sql" in browser_of(fake_sources()).get("/where?sql=x+y").text


def test_a_run_is_the_own_of_its_user_and_can_be_cancelled() -> None:
    sources: Any = fake_sources()
    browser = browser_of(sources)
    text = browser.post("/where/run", {"sql": "SELECT 1;", "database": "s"}).text
    [run] = sources.sql.started
    assert (run.sql, run.about) == ("SELECT 1", "query")
    assert f'hx-get="/where/run/{run.name}"' in text
    assert browser.post(f"/where/run/{run.name}/cancel").status == 200
    run.state, run.columns, run.rows = RunState.FINISHED, [("n", True)], [("1",), (None,)]
    text = browser.get(f"/where/run/{run.name}").text
    assert "2 rows" in text
    assert "NULL" in text
    run.user = "another"
    assert browser.get(f"/where/run/{run.name}").status == 409
    assert browser.post("/where/run", {"sql": " "}).status == 409


def test_an_obstacle_in_a_way_is_shown_as_text_not_as_html() -> None:
    sources: Any = fake_sources()
    lacks = considered("east", obstacle("east", "<img src=x>"))
    sources.history.statements = [statement("a", text="<script>x</script>", considered=[lacks])]
    for path in ("/refusals", "/statements/a", "/statements"):
        text = browser_of(sources).get(path).text
        assert "<img" not in text.replace('<img src="/static', "")
        assert "<script>x" not in text
