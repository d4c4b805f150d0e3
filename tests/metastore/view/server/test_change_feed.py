from conf.names import TableRef
from metastore.client.types import Changes
from metastore.view.server.change_feed import KEPT, ChangeFeed

A, B = TableRef("d", "a"), TableRef("d", "b")


def test_a_new_follower_gets_everything() -> None:
    feed = ChangeFeed(first=100)
    assert feed.since(0) == Changes(100, everything=True, feed=feed.id)
    assert feed.since(100) == Changes(100, feed=feed.id)


def test_changes_since_a_position_without_repetition() -> None:
    feed = ChangeFeed(first=100)
    feed.add((A,))
    feed.add((B, A))
    assert feed.since(100) == Changes(103, ("d.a", "d.b"), feed=feed.id)
    assert feed.since(101) == Changes(103, ("d.b", "d.a"), feed=feed.id)
    assert feed.since(103) == Changes(103, feed=feed.id)


def test_a_late_reader_or_one_of_another_process_gets_everything() -> None:
    feed = ChangeFeed(first=100)
    feed.add((A,) * (KEPT + 1))
    assert feed.since(100).everything
    assert not feed.since(101).everything
    assert feed.since(100 + KEPT + 2).everything
    assert ChangeFeed().since(feed.since(0).position).everything
