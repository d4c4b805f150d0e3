"""Refusals: groups, what frees them, and the button that copies."""

from datetime import UTC, datetime
from typing import Any

import pytest

from conf.names import ClusterName, TableRef
from console.facts.copies import Copy
from console.pages.refusal_groups import Lack, Way, grouped
from dialect.grammar.cluster_statements import CopyTable, parse
from tests.console.browser import Browser, opened
from tests.console.fake_sources import (
    considered,
    explained,
    fake_sources,
    obstacle,
    open_app,
    state_of,
    statement,
)

NOW = datetime(2026, 2, 2, 6, 0, tzinfo=UTC).timestamp()


def test_statements_that_lack_the_same_are_one_group() -> None:
    found = grouped(
        [
            statement("a", user="ann"),
            statement("b", user="bob", fingerprint="f2"),
            statement("c", user="ann"),
        ],
        NOW,
    )
    [group] = found.groups
    assert group.ways == (
        Way("east", (Lack("s.visits", "absent"),)),
        Way("west", (Lack("s.orders", "absent"),)),
    )
    assert group.example["statement"] == "a"
    assert (group.count, group.users, len(group.templates)) == (3, {"ann": 2, "bob": 1}, 2)
    assert found.daily(group) == 1.5


def test_less_than_a_day_counts_as_a_day() -> None:
    found = grouped([statement("a")], datetime(2026, 1, 31, 7, tzinfo=UTC).timestamp())
    assert found.daily(found.groups[0]) == 1


def test_a_cluster_that_another_obstacle_rules_out_is_no_way() -> None:
    east = considered("east", obstacle("east", "s.v"), obstacle("east", "", "down"))
    west = considered("west", obstacle("west", "s.o", "stale"))
    [group] = grouped([statement("a", considered=[east, west])], NOW).groups
    assert group.ways == (Way("west", (Lack("s.o", "stale"),)),)


def test_statements_that_no_copy_frees_are_grouped_by_code() -> None:
    found = grouped([statement("a", considered=[], code="CW101"), statement("b")], NOW)
    assert [(x.example["code"], x.count) for x in found.others] == [("CW101", 1)]
    assert len(found.groups) == 1


def test_different_partitions_of_one_table_are_one_group_with_the_names_of_both() -> None:
    both = [
        statement(
            number,
            considered=[considered("east", obstacle("east", "s.v", partitions=1, first=[day]))],
        )
        for number, day in (("a", "day=1"), ("b", "day=2"))
    ]
    [group] = grouped(both, NOW).groups
    assert group.ways == (Way("east", (Lack("s.v", "absent", 2, ("day=1", "day=2")),)),)


def test_the_statement_of_a_copy_is_of_the_grammar() -> None:
    east, west = ClusterName("east-1"), ClusterName("w.e`st")
    days = ((("day", "it's \\ 1"),), (("day", "2"),))
    copy = Copy(TableRef("s", "o`ne"), east, west, days)
    assert parse(copy.sql, in_use=True) == CopyTable("s", "o`ne", days, "east-1", "w.e`st")


def test_the_page_offers_both_ways_with_the_bytes() -> None:
    sources = fake_sources()
    one = statement("a1b2c3d4e5f6a7")
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained()}  # type: ignore[attr-defined]
    text = Browser(open_app(sources)).get("/refusals").text
    assert "ALTER TABLE s.visits COPY west TO east" in text
    assert "ALTER TABLE s.orders COPY east TO west" in text
    assert "4.2 MB" in text
    assert text.count('<form hx-post="/copies"') == 2
    assert 'href="/statements/a1b2c3d4e5f6a7"' in text


def test_a_group_that_would_run_now_is_freed() -> None:
    sources = fake_sources()
    one = statement("a")
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained("run", "east")}  # type: ignore[attr-defined]
    text = Browser(open_app(sources)).get("/refusals").text
    assert "It can run now, in east" in text
    assert "/copies" not in text


def test_a_table_that_was_copied_meanwhile_needs_no_second_copy() -> None:
    sources = fake_sources()
    lacks = considered("east", obstacle("east", "s.visits"), obstacle("east", "s.other"))
    one = statement("a", considered=[lacks])
    tables = [
        state_of("s.visits", "east", "fresh"),
        state_of("s.visits", "west", "primary"),
        state_of("s.other", "east", "stale"),
        state_of("s.other", "west", "primary"),
    ]
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained(tables=tables)}  # type: ignore[attr-defined]
    text = Browser(open_app(sources)).get("/refusals").text
    assert "ALTER TABLE s.other COPY west TO east" in text
    assert "ALTER TABLE s.visits" not in text


def test_the_page_says_why_the_state_now_is_not_known() -> None:
    sources = fake_sources()
    sources.history.statements = [statement("a")]  # type: ignore[attr-defined]
    sources.proxies.down = True  # type: ignore[attr-defined]
    text = Browser(open_app(sources)).get("/refusals").text
    assert "127.0.0.1:10099: Connection refused" in text


def test_an_empty_history_says_what_to_do_next() -> None:
    assert "Nothing was refused" in Browser(open_app()).get("/refusals").text


def test_the_button_copies_as_the_user_and_shows_the_state() -> None:
    sources = fake_sources()
    browser = Browser(open_app(sources))
    browser.csrf = browser.app.state.access.session(None).csrf
    form = {"table": "s.visits", "source": "west", "target": "east", "partitions": "day=2026-01-01"}
    text = browser.post("/copies", form).text
    [run] = sources.sql.started  # type: ignore[attr-defined]
    assert run.sql == "ALTER TABLE s.visits PARTITION (day = '2026-01-01') COPY west TO east"
    assert run.user == browser.app.state.access.session(None).user
    assert f'hx-get="/copies/{run.name}"' in text
    assert f"copy-{run.name}" in browser.get("/refusals").text
    assert browser.get(f"/copies/{run.name}").status == 200


@pytest.mark.parametrize(
    ("page", "back"),
    [
        ("http://127.0.0.1:10002/where?sql=SELECT+1&a=b", "/where?sql=SELECT+1&amp;a=b"),
        ("http://127.0.0.1:10002//evil.example/", "/"),
        ("", "/refusals"),
    ],
)
def test_a_finished_copy_leads_back_to_the_page_that_it_was_begun_on(page: str, back: str) -> None:
    sources: Any = fake_sources()
    browser = opened(open_app(sources))
    browser.post("/copies", {"table": "s.t", "source": "west", "target": "east"})
    [run] = sources.sql.started
    run.state = "finished"
    text = browser.get(f"/copies/{run.name}", hx_current_url=page).text
    assert f'<a href="{back}">See what can run now</a>' in text


def test_the_way_with_the_least_to_copy_is_the_first() -> None:
    sources: Any = fake_sources()
    one, known = statement("a1b2c3d4e5f6a7"), explained()
    sources.history.statements, sources.proxies.explained = [one], {one["text"]: known}
    for orders, visits, first in ((10, 20, "west"), (20, 10, "east"), (None, 10, "east")):
        for each in known["tables"]:
            if each["state"] == "primary":
                each["bytes"] = {"s.orders": orders, "s.visits": visits}[each["table"]]
        text = opened(open_app(sources)).get("/refusals").text
        assert f"Either: let it run in {first}" in text, (orders, visits)


def test_one_partition_is_copied_alone_whatever_its_value() -> None:
    """A value with `%` in its escaped name: the page once offered to copy the whole table."""
    sources = fake_sources()
    lack = obstacle("east", "s.visits", partitions=1, first=["day=a%2Fb %25"])
    one = statement("a", considered=[considered("east", lack)])
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained()}  # type: ignore[attr-defined]
    browser = Browser(open_app(sources))
    text = browser.get("/refusals").text
    assert 'value="day=a%2Fb %25"' in text
    assert "This copies the whole table" not in text
    browser.csrf = browser.app.state.access.session(None).csrf
    form = {"table": "s.visits", "source": "west", "target": "east", "partitions": "day=a%2Fb %25"}
    browser.post("/copies", form)
    [run] = sources.sql.started  # type: ignore[attr-defined]
    assert "PARTITION (day = 'a/b %') COPY" in run.sql
    assert browser.post("/copies", form | {"partitions": "nonsense"}).status == 409


def test_the_button_copies_all_partitions_that_are_known() -> None:
    sources = fake_sources()
    days = [f"day={day}" for day in range(8)]
    lack = obstacle("east", "s.visits", partitions=8, first=days)
    one = statement("a", considered=[considered("east", lack)])
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained()}  # type: ignore[attr-defined]
    browser = opened(open_app(sources))
    text = browser.get("/refusals").text
    names = "\n".join(days)
    assert f'name="partitions" value="{names}"' in text
    assert "This copies the whole table" not in text
    form = {"table": "s.visits", "source": "west", "target": "east"}
    sent = browser.post("/copies", form | {"partitions": names.replace("\n", "\r\n")}).text
    [run] = sources.sql.started  # type: ignore[attr-defined]
    clauses = ", ".join(f"PARTITION (day = '{day}')" for day in range(8))
    assert run.sql == f"ALTER TABLE s.visits {clauses} COPY west TO east"
    assert "s.visits 8 partitions to east" in sent


def test_the_page_says_that_a_copy_of_many_partitions_is_one_of_the_table() -> None:
    sources = fake_sources()
    lack = obstacle("east", "s.visits", partitions=9, first=[f"day={day}" for day in range(8)])
    one = statement("a", considered=[considered("east", lack)])
    sources.history.statements = [one]  # type: ignore[attr-defined]
    sources.proxies.explained = {one["text"]: explained()}  # type: ignore[attr-defined]
    assert "This copies the whole table" in Browser(open_app(sources)).get("/refusals").text


def test_a_copy_to_a_cluster_that_is_not_there_is_refused() -> None:
    browser = Browser(open_app())
    browser.csrf = browser.app.state.access.session(None).csrf
    answer = browser.post("/copies", {"table": "s.t", "source": "east", "target": "north"})
    assert answer.status == 409
    assert "north" in answer.text
