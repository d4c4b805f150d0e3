"""Tables and partitions in the target metastore, also if it refuses or its reply is lost."""

from collections.abc import Sequence

import pytest

from conf.names import TableRef
from metastore.client.types import Partition
from metastore.errors import MetastoreDown
from pipeline.errors import CopyError, PublishFailed
from tests.pipeline.replication.pair import BASE, TARGET, Pair


def test_a_refused_registration_is_tried_again() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 2
    assert pair.run().published == ["ds=1"]
    assert sum(event["event"] == "refused" for event in pair.events) == 2


def test_a_registration_with_a_lost_reply_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = Pair()
    pair.add("1", a="one")
    add, lost = pair.target.add_partitions, iter([True])

    def answer_lost(ref: TableRef, partitions: Sequence[Partition]) -> None:
        add(ref, partitions)
        for _ in lost:
            raise MetastoreDown("no answer")

    monkeypatch.setattr(pair.target, "add_partitions", answer_lost)
    assert pair.run().published == ["ds=1"]
    assert pair.seen() == {"ds=1": {"a": b"one"}}
    pair.sweep()
    assert pair.seen() == {"ds=1": {"a": b"one"}}


def test_a_partition_that_appears_after_the_plan_is_swapped() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("2", a="two")

    def made_by_hand(path: str) -> None:
        made = Partition.make(pair.target.tables[TARGET], ("2",), "file:///hand", {"by": "hand"})
        pair.target.parts[TARGET]["ds=2"] = made

    pair.files.during = made_by_hand
    assert pair.run(pair.request("2")).published == ["ds=2"]
    assert pair.seen() == {"ds=1": {"a": b"one"}, "ds=2": {"a": b"two"}}
    assert pair.target.parts[TARGET]["ds=2"].parameters["by"] == "hand"


def test_after_the_last_refused_registration_no_files_stay() -> None:
    """FA-R6: staging and target empty, metadata untouched."""
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 3
    with pytest.raises(PublishFailed):
        pair.run()
    assert pair.target.tables == {}
    assert [path for path in pair.files.content if path.startswith(BASE)] == []


def test_a_refusal_is_reported_also_when_its_files_cannot_be_removed() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 3

    def failing(locations: Sequence[str]) -> None:
        if locations:
            raise CopyError("the name node is in safe mode.")

    pair.files.delete = failing  # type: ignore[method-assign]
    with pytest.raises(PublishFailed, match=r"3 attempts.*could not be removed.*safe mode"):
        pair.run()


def test_a_refusal_leaves_the_target_unchanged() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("2", a="two")
    pair.target.refusals = 3
    with pytest.raises(PublishFailed):
        pair.run(pair.request("2"))
    assert pair.seen() == {"ds=1": {"a": b"one"}}
    runs = pair.files.children(f"{BASE}/_causeway")
    assert len(runs) == 1
