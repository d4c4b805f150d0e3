"""Which tables are read ahead of a crawl."""

from collections.abc import Sequence

import pytest

from metastore.snapshot.crawls import CHUNK, CRAWLS, LISTS, LONGEST, SKIPPED, WINDOW, Crawls

NAMES = tuple(f"t{number:04}" for number in range(200))


@pytest.fixture
def crawls() -> Crawls:
    found = Crawls()
    found.list_was_shown("db", NAMES)
    return found


def ask(crawls: Crawls, *positions: int) -> list[Sequence[str]]:
    return [crawls.next_tables("db", NAMES[each]) for each in positions]


def test_one_request_is_no_crawl(crawls) -> None:
    assert ask(crawls, 5) == [()]


def test_the_second_of_two_neighbours_begins_to_read_ahead(crawls) -> None:
    assert ask(crawls, 5, 6)[1] == NAMES[7 : 7 + WINDOW]


def test_each_table_is_read_once_in_chunks_until_the_list_ends(crawls) -> None:
    reads = [each for each in ask(crawls, *range(len(NAMES))) if each]
    assert [name for each in reads for name in each] == list(NAMES[2:])
    assert all(len(each) % CHUNK == 0 for each in reads[:-1])


def test_a_crawl_may_leave_out_some_tables(crawls) -> None:
    assert ask(crawls, 5, 5 + SKIPPED)[1]
    assert not ask(crawls, 100, 100 + SKIPPED + 1)[1]


def test_requests_in_reverse_order_are_no_crawl(crawls) -> None:
    assert not any(ask(crawls, *range(100, 50, -1)))


def test_crawls_of_the_same_list_do_not_disturb_each_other(crawls) -> None:
    starts = [each * 40 for each in range(CRAWLS)]
    assert not any(ask(crawls, *starts))
    assert all(ask(crawls, *(start + 1 for start in starts)))


def test_a_new_list_begins_anew_and_the_same_one_does_not(crawls) -> None:
    ask(crawls, 5)
    crawls.list_was_shown("db", NAMES)
    assert ask(crawls, 6)[0]
    crawls.list_was_shown("db", NAMES[:-1])
    assert not ask(crawls, 7)[0]


def test_a_table_that_was_not_listed_is_not_read_ahead() -> None:
    crawls = Crawls()
    assert not any(ask(crawls, 5, 6))
    crawls.list_was_shown("db", [f"t{number:04}" for number in range(LONGEST + 1)])
    assert not any(ask(crawls, 5, 6))


def test_lists_are_bounded(crawls) -> None:
    for number in range(LISTS):
        crawls.list_was_shown(f"other{number}", NAMES)
    assert not any(ask(crawls, 5, 6))
