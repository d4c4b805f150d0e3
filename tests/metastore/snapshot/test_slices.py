"""Which names have to be read for which predicates."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from conf.partitions import PartitionKey, PartitionSet
from metastore.snapshot.slices import FEW, slices

KEYS = [PartitionKey(name, "string") for name in ("a", "b", "c")]


@dataclass(frozen=True)
class Required:
    texts: tuple[Sequence[str] | None, ...]

    def select(self, partitions: PartitionSet) -> range:
        return range(0)

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [None if each is None else frozenset(each) for each in self.texts]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((["1"], None, None), {("1",)}),
        ((["1", "2"], None, ["x"]), {("1", "", "x"), ("2", "", "x")}),
        ((None, ["x"], None), {("", "x")}),
        (([], None, None), set()),
        ((None, None, None), None),
        (([str(number) for number in range(FEW + 1)], None, None), None),
        (([str(number) for number in range(FEW)], ["x", "y"], None), None),
        # What a pattern or a folder's name spells in another way.
        *(
            ((["1", text], None, None), None)
            for text in ("", "a b", "a:b", "a%b", "(a)", "ä", "a+")
        ),
    ],
)
def test_slices(texts: tuple[Sequence[str] | None, ...], expected: set[object] | None) -> None:
    assert slices(KEYS, [Required(texts)]) == expected


def test_each_selector_s_slices_are_needed() -> None:
    one, other = Required((["1"], None, None)), Required((["2"], None, None))
    assert slices(KEYS, [one, other]) == {("1",), ("2",)}
    assert slices(KEYS, [one, Required((None, None, None))]) is None
    assert slices(KEYS, []) == frozenset()
    assert slices(KEYS, None) is None
