"""Cluster facts in parameters, and when a copy is fresh (D10, D12)."""

import pytest

from conf.names import ClusterName
from conf.placement import (
    BadPlacement,
    Copy,
    Placement,
    read_partition_placement,
    read_placement,
    replace_placement,
    write_placement,
)

C1, C2 = ClusterName("C1"), ClusterName("C2")


def _copied(placement: Placement) -> Placement:
    return placement.with_copy(Copy(C2, "file:/c2/t", placement.version))


def test_parameters_round_trip() -> None:
    placement = _copied(Placement(C1, "w7", facts="f", exceptions=frozenset())).opened(
        "a", ["ds=1"], since=5, by="p"
    )
    placement = placement.opened("b")
    assert read_placement(write_placement(placement), C2) == placement


def test_equal_facts_compare_equal_in_any_order_of_changes() -> None:
    copies = [Copy(C2, "file:/c2", "0"), Copy(C1, "file:/c1", "0")]
    placement = Placement(ClusterName("C3")).opened("b").opened("a")
    for copy in copies:
        placement = placement.with_copy(copy)
    assert read_placement(write_placement(placement), C1) == placement


def test_an_object_without_facts_belongs_to_its_owner() -> None:
    assert read_placement({"comment": "x"}, C1) == Placement(C1)


def test_replacing_facts_keeps_the_users_parameters() -> None:
    old = {"comment": "x", "causeway.copy.C2": "{}", "causeway.primary": "C2"}
    assert replace_placement(old, Placement(C1)) == {
        "comment": "x",
        "causeway.primary": "C1",
        "causeway.write": "0",
    }


def test_a_write_makes_copies_stale_from_its_start() -> None:
    table = _copied(Placement(C1))
    assert table.replicas().fresh == {C2}
    running = table.opened("a")
    assert running.replicas().fresh == frozenset()
    assert running.replicas().stale == {C2}
    assert running.closed("a", "w1").replicas().stale == {C2}


def test_a_copy_begun_before_a_write_and_published_after_it_is_stale() -> None:
    before = Placement(C1).version
    after = Placement(C1).opened("a").closed("a", "w1")
    assert after.with_copy(Copy(C2, "file:/c2/t", before)).replicas().stale == {C2}


def test_two_writers_do_not_remove_each_others_marks() -> None:
    both = Placement(C1).opened("a").opened("b")
    one_left = both.closed("a", "w1")
    assert one_left.writing
    assert not one_left.closed("b", "w2").writing


def test_a_copy_between_the_ends_of_two_writers_is_never_fresh() -> None:
    one_left = Placement(C1).opened("a").opened("b").closed("b", "w1")
    copied = _copied(one_left)
    assert copied.replicas().stale == {C2}
    assert copied.closed("a", "w2").replicas().stale == {C2}


def test_a_missing_mark_counts_as_one_of_all_partitions() -> None:
    assert _copied(Placement(C1)).closed("lost", "w1").replicas().stale == {C2}


def test_a_copy_of_iceberg_is_fresh_for_its_metadata_file_alone() -> None:
    """So a commit without any mark makes it stale. A copy without metadata of its own is none."""
    copy = Copy(C2, "file:/c2/t", "0", metadata="file:/c2/t/metadata/5.json")
    facts = write_placement(Placement(C1).with_copy(copy))

    def fresh(metadata: str) -> frozenset[str]:
        placement = read_placement({**facts, "metadata_location": metadata}, C1)
        assert placement.copies == (copy,)
        assert write_placement(placement) == facts
        return placement.replicas().fresh

    assert fresh("file:/c1/t/metadata/5.json") == {C2}
    assert fresh("file:/c1/t/metadata/6.json") == frozenset()
    assert read_placement(facts, C1).replicas().fresh == frozenset()
    plain = Placement(C1, metadata="file:/c1/t/metadata/5.json")
    assert _copied(plain).replicas().fresh == frozenset()


def test_a_write_of_one_partition_leaves_the_others_fresh() -> None:
    table = Placement(C1)
    ones = write_placement(_copied(read_partition_placement({}, table, "ds=1")))
    running = table.opened("a", ["ds=2"])
    assert read_partition_placement(ones, running, "ds=1").replicas().fresh == {C2}
    assert read_partition_placement(ones, running, "ds=2").replicas().stale == {C2}
    ended = running.closed("a", "w1")
    assert read_partition_placement(ones, ended, "ds=1").replicas().fresh == {C2}


def test_a_write_of_unknown_partitions_makes_all_copies_stale() -> None:
    table = Placement(C1)
    ones = write_placement(_copied(read_partition_placement({}, table, "ds=1")))
    running = table.opened("a")
    assert read_partition_placement(ones, running, "ds=1").replicas().stale == {C2}
    ended = running.closed("a", "w1")
    assert read_partition_placement(ones, ended, "ds=1").replicas().stale == {C2}


def test_a_rewritten_partition_has_stale_copies() -> None:
    partition = _copied(read_partition_placement({}, Placement(C1), "ds=1"))
    assert partition.rewritten("w1").replicas().stale == {C2}


def test_a_partition_never_writes_its_tables_marks() -> None:
    partition = read_partition_placement({}, Placement(C1, "w3").opened("a"), "ds=1")
    assert partition.writing
    assert write_placement(partition) == {"causeway.primary": "C1", "causeway.write": "0"}


def test_a_mark_with_very_many_names_covers_all() -> None:
    running = Placement(C1).opened("a", [f"ds={n}" for n in range(5000)])
    assert running.open[0].partitions is None


@pytest.mark.parametrize(
    "parameters",
    [
        {"causeway.copy.C2": "x"},
        {"causeway.copy.C2": "[]"},
        {"causeway.copy.C2": '{"location": "l"}'},
        {"causeway.copy.C2": "[" * 100_000},
        {"causeway.open.a": "{}"},
        {"causeway.open.a": '{"since": "x", "by": "", "partitions": null}'},
    ],
)
def test_unreadable_facts_are_an_error(parameters: dict[str, str]) -> None:
    with pytest.raises(BadPlacement):
        read_placement(parameters, C1)
