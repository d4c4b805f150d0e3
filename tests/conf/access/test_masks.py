"""Kinds of masks."""

from conf.access.masks import MASKS, RANGER, of_column


def test_the_name_of_the_column_is_quoted() -> None:
    assert of_column("concat({col}, {col})", "a`b") == "concat(`a``b`, `a``b`)"


def test_each_mask_of_ranger_is_one_of_ours() -> None:
    assert set(RANGER.values()) == set(MASKS.values())
