"""Partitions of many tables share what they have in common."""

from conf.partitions import PartitionKey, PartitionSet


def test_tables_share_the_texts_of_their_partitions() -> None:
    """A fleet has a hundred million partitions of a thousand days."""
    keys = (PartitionKey("ds", "string"),)
    one, other = (PartitionSet(keys, [[f"2026-01-{n:02}"] for n in (3, 4)]) for _ in range(2))
    assert one.row(1) == ("2026-01-04",)
    assert all(a is b for a, b in zip(one.distinct(0), other.distinct(0), strict=True))
