"""Partition filters: what they accept, and what they refuse by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.partitions import PartitionKey
from pipeline.copy.filter import NULL_NAME, filter_of, parse_filter
from pipeline.errors import BadFilter

KEYS = (PartitionKey("ds", "string"), PartitionKey("hr", "int"), PartitionKey("region", "string"))


def accepts(text: str, ds: str = "2024-01-02", hr: str = "9", region: str = "us") -> bool:
    return parse_filter(text, KEYS).accepts((("ds", ds), ("hr", hr), ("region", region)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ds >= '2024-01-01'", True),
        ("ds < '2024-01-02'", False),
        ('DS = "2024-01-02"', True),
        ("`ds` == '2024-01-02'", True),
        ("hr < 10", True),  # as numbers: '9' < '10' is false as text
        ("hr = '09'", True),
        ("hr between 8 and 9 and region <> 'in'", True),
        ("region in ('eu', 'us')", True),
        ("region not in ('eu', 'us')", False),
        ("not region = 'us' or hr = 9", True),
        ("not (region = 'us' or hr = 9)", False),
        ("ds like '2024-01-%'", True),
        ("ds like '2024_01_03'", False),
        ("region = 'eu' or region = 'us' and hr = 1", False),
    ],
)
def test_accepts(text: str, expected: bool) -> None:
    assert accepts(text) is expected


@pytest.mark.parametrize("text", ["ds = 'x'", "ds <> 'x'", "not ds = 'x'", "not ds like 'x'"])
def test_null_is_neither_equal_nor_different(text: str) -> None:
    assert not accepts(text, ds=NULL_NAME)


@pytest.mark.parametrize(
    "text",
    [
        *("", "ds", "ds =", "ds = x", "dt = '1'", "ds = '1' and", "(ds = '1'", "ds = '1')"),
        *("hr = 'x'", "ds = '1' ; drop", "ds = 'a", "in ('1')"),
        "(" * 500 + "ds = '1'" + ")" * 500,
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(BadFilter):
        parse_filter(text, KEYS)


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=20))
def test_a_spec_as_a_filter_accepts_itself_alone(value: str) -> None:
    keys = (PartitionKey("ds", "string"),)
    parsed = parse_filter(filter_of((("ds", value),)), keys)
    assert parsed.accepts((("ds", value),)) is (value != NULL_NAME)
    assert not parsed.accepts((("ds", value + "x"),))


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("ds in ('a', 'b', 'c')", ("ds=b", "ds=c")),
        ("ds = 'a' or ds = 'b' or ds = 'b'", ("ds=b",)),
        ("ds in ('a', 'b') and hr in (1, '02')", ("ds=a/hr=02", "ds=b/hr=1", "ds=b/hr=02")),
        ("hr = '01'", ()),  # as numbers
        ("ds in ('a', 'b') and hr >= 1", ("ds=b",)),
        ("ds = 'b' and ds = 'c' or ds >= 'a'", ()),
        *((text, ()) for text in ("ds >= 'a'", "ds not in ('b', 'c')", "not ds = 'b'")),
        ("ds like 'b%' or ds <> 'b'", ()),
    ],
)
def test_partitions_that_are_named_and_absent(text: str, absent: tuple[str, ...]) -> None:
    there = (("ds", "a"), ("hr", "1"), ("region", "eu"))
    parsed = parse_filter(text, KEYS)
    assert parsed.absent([there] if parsed.accepts(there) else []) == absent


def test_a_filter_that_names_too_many_partitions_reports_none() -> None:
    numbers = ", ".join(map(str, range(101)))
    parsed = parse_filter(f"hr in ({numbers}) and ds in ({numbers})", KEYS)
    assert parsed.absent([]) == ()
