"""Tables by clusters, and a table's partitions by clusters."""

import resource
import time

import pytest

from conf.names import ClusterName, TableRef
from console.pages.freshness import partitions_context, select, tables_context
from console.sources.partition_states import partition_states
from tests.console.browser import Browser, opened
from tests.console.fake_places import EAST, WEST, parted, placed
from tests.console.fake_sources import fake_sources, open_app
from tests.console.many_partitions import many

NOW = time.time()


def browser(**tables: object) -> tuple[Browser, object]:
    sources = fake_sources()
    for name, (placement, partitions) in tables.items():  # type: ignore[misc]
        sources.metastore.put(name.replace("__", "."), placement, partitions)  # type: ignore[attr-defined]
    return opened(open_app(sources)), sources


def test_a_table_has_a_cell_for_each_cluster() -> None:
    page, _ = browser(s__orders=(placed(True), None), s__items=(placed(False, 7200), None))
    text = page.get("/freshness").text
    assert text.index("s.items") < text.index("s.orders")  # the larger lag is first
    assert ">stale<" in text
    assert "2.0 h" in text
    assert ">primary<" in text


def test_tables_are_searched_sorted_and_selected() -> None:
    page, _ = browser(
        s__orders=(placed(True), None), s__items=(placed(False), None), t__none=(placed(), None)
    )
    assert "s.orders" not in page.get("/freshness?search=ITEM").text.split("<tbody>")[1]
    stale = page.get("/freshness?show=stale").text
    assert "s.items" in stale
    assert "s.orders" not in stale
    assert "t.none" not in page.get("/freshness?show=copied").text
    by_name = page.get("/freshness?sort=table").text
    assert by_name.index("s.items") < by_name.index("s.orders") < by_name.index("t.none")


def test_partitions_that_differ_are_counted_with_a_bar() -> None:
    page, _ = browser(w__visits=(placed(), parted(10, range(3))))
    text = page.get("/freshness").text
    assert "3 of 10 stale" in text
    assert 'class="picture share"' in text


def test_many_tables_are_pages() -> None:
    sources = fake_sources()
    for number in range(250):
        sources.metastore.put(f"s.t{number:03}", placed(True))  # type: ignore[attr-defined]
    page = opened(open_app(sources))
    assert "1 to 100 of 250 tables" in page.get("/freshness?sort=table").text
    last = page.get("/freshness?sort=table&page=3").text
    assert "s.t249" in last
    assert "s.t100" not in last
    assert page.get("/freshness?page=none").status == 200
    assert page.get("/freshness?page=99").status == 200


def test_a_table_says_where_each_copy_is_and_since_when_it_lacks_something() -> None:
    page, _ = browser(s__items=(placed(False, 7200), None))
    text = page.get("/freshness/s.items").text
    assert "file:/west/t" in text
    assert "4.2 MB" in text
    assert "2.0 h" in text


def test_a_copy_that_becomes_fresh_is_shown_as_fresh() -> None:
    page, sources = browser(s__items=(placed(False), None))
    assert ">stale<" in page.get("/freshness/s.items").text.split("<tbody>")[1]
    sources.metastore.put("s.items", placed(True))  # type: ignore[attr-defined]
    rows = page.get("/freshness/s.items").text.split("<tbody>")[1].split("</tbody>")[0]
    assert ">fresh<" in rows
    assert ">stale<" not in rows


def test_neighbours_are_one_line_of_a_table() -> None:
    page, _ = browser(w__visits=(placed(), parted(12, range(4, 6))))
    rows = page.get("/freshness/w.visits").text.split('id="runs"')[1].split("</tbody>")[0]
    assert rows.count("<tr>") == 1 + 3
    assert "day=0 … day=3" in rows
    assert "day=6 … day=11" in rows  # 10 and 11 count as numbers


def test_partitions_are_searched_and_selected_by_state() -> None:
    page, _ = browser(w__visits=(placed(), parted(12, range(4, 6))))
    stale = page.get("/freshness/w.visits?state=stale").text
    assert "2 of 12 partitions" in stale.replace("\u202f", " ")
    assert "day=4 … day=5" in stale
    assert "1 of 12 partitions" in page.get("/freshness/w.visits?search=day=7").text
    assert "No partition fits" in page.get("/freshness/w.visits?search=nothing").text


def test_a_table_that_does_not_exist_and_a_metastore_that_is_down() -> None:
    page, sources = browser()
    assert page.get("/freshness/s.none").status == 404
    assert "There are no tables yet" in page.get("/freshness").text
    sources.metastore.down = True  # type: ignore[attr-defined]
    for path in ("/freshness", "/freshness/s.none"):
        answer = page.get(path)
        assert answer.status == 503
        assert "No answer from the metastore" in answer.text


def test_names_are_escaped() -> None:
    sources = fake_sources()
    sources.metastore.put("s.<b>", placed(), {"day=<i>": placed(True)})  # type: ignore[attr-defined]
    page = opened(open_app(sources))
    for path in ("/freshness", "/freshness/s.<b>"):
        answer = page.get(path)
        assert answer.status == 200
        assert "<b>" not in answer.text
        assert "<i>" not in answer.text


@pytest.mark.slow
def test_a_hundred_thousand_partitions_are_a_small_page() -> None:
    states = partition_states(many(100_000), [EAST, *map(ClusterName, ("c2", "c3", "c4", "c5"))])
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    context = partitions_context("w.big", states, NOW, {})
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
    print(f"drawn in {used * 1000:.0f} ms, {len(context['picture']):,} bytes")
    assert context["total"] == 100_000
    assert len(context["runs"]) == 100
    assert len(context["picture"]) < 150_000
    assert used < 3.0  # 0.2 s on an idle machine; this finds a cost by the square


@pytest.mark.slow
def test_the_page_of_a_large_table_is_at_most_250_kb() -> None:
    page, _ = browser(w__big=(placed(), many(20_000)))
    assert len(page.get("/freshness/w.big").body) < 250_000


def test_the_states_of_partitions_are_those_of_their_copies() -> None:
    states = partition_states(
        {"ds=10": placed(True), "ds=9": placed(False, 100), "ds=x": placed(primary=WEST)},
        [EAST, WEST],
    )
    assert states.names == ["ds=9", "ds=10", "ds=x"]
    kinds = [[each.value for each in states.kinds[group]] for group in states.groups]
    assert kinds == [["primary", "stale"], ["primary", "fresh"], ["absent", "primary"]]
    assert list(states.since) == [0]
    assert abs(states.since[0] - (time.time() - 100)) < 30
    chosen = select(states, "", "stale")
    assert (chosen.names, list(chosen.since)) == (["ds=9"], [0])


def test_a_list_that_was_not_read_whole_says_so() -> None:
    from console.sources.metastore_client import TableList

    found = TableList(
        (), (TableRef("s", "big"),), ((TableRef("s", "bad"), "unreadable"),), 9, (EAST,), NOW
    )
    context = tables_context(found, {})
    assert not context["complete"]
    assert [(row.table, row.note) for row in context["rows"]] == [
        ("s.bad", "unreadable"),
        ("s.big", "more than 5\u202f000 partitions"),
    ]
