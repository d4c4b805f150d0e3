"""Partition filters: what they accept, and what they refuse by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.names import partition_name
from conf.partitions import PartitionKey
from pipeline.copy.filter import NULL_NAME, parse_filter, parse_names
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


@pytest.mark.parametrize(
    ("text", "of_null", "of_a"),
    [
        (f"ds = '{NULL_NAME}'", True, False),
        (f"ds <> '{NULL_NAME}'", False, True),
        (f"ds in ('a', '{NULL_NAME}')", True, True),
        (f"ds not in ('b', '{NULL_NAME}')", False, True),
        (f"hr = '{NULL_NAME}' or ds = 'a'", False, True),
        (f"ds like '{NULL_NAME}'", False, False),
    ],
)
def test_the_name_of_the_default_partition_selects_it(text: str, of_null: bool, of_a: bool) -> None:
    assert (accepts(text, ds=NULL_NAME), accepts(text, ds="a")) == (of_null, of_a)


VALUES = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)


@given(VALUES)
def test_a_quoted_value_accepts_itself_alone(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    parsed = parse_filter(f"ds = '{quoted}'", KEYS[:1])
    assert parsed.accepts((("ds", value),))
    assert not parsed.accepts((("ds", value + "x"),))


MANY = 20_000  # far beyond Python's limit of recursion


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "ds in ({})".format(", ".join(f"'{number}'" for number in range(MANY))),
        " or ".join(f"ds = '{number}'" for number in range(MANY)),
        " and ".join(f"ds <> '{number}x'" for number in range(MANY)),
    ],
    ids=["in", "or", "and"],
)
def test_a_filter_may_have_many_parts(text: str) -> None:
    assert accepts(text, ds=str(MANY - 1))
    assert not accepts(text, ds=f"{MANY - 1}x")


def names(text: str, *spec: tuple[str, str]) -> bool:
    return parse_names(text, KEYS).accepts(spec)


DAY, NINE, US = ("ds", "2024-01-02"), ("hr", "9"), ("region", "us")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ds=2024-01-02/hr=9/region=us", True),
        ("ds=2024-01-01/hr=9/region=us\nds=2024-01-02/hr=9/region=us\n", True),
        ("ds=2024-01-01/hr=9/region=us\n\r\nds=2024-01-02/hr=10/region=us\r\n", False),
        ("DS=2024-01-02", True),
        ("region=us/hr=09", True),  # as numbers, in any order
        ("region=eu\nds=2024-01-02", True),
        ("region=eu\nhr=8", False),
    ],
)
def test_listed_names_select_the_partitions_with_their_values(text: str, expected: bool) -> None:
    assert names(text, DAY, NINE, US) is expected


def test_listed_names_select_the_default_partition_alone() -> None:
    assert names(f"hr={NULL_NAME}", DAY, ("hr", NULL_NAME), US)
    assert not names(f"hr={NULL_NAME}", DAY, NINE, US)


@given(VALUES)
def test_the_name_of_a_partition_selects_it_alone(value: str) -> None:
    parsed = parse_names(partition_name((("ds", value),)) + "\n", KEYS[:1])
    assert parsed.accepts((("ds", value),))
    assert not parsed.accepts((("ds", value + "x"),))


def test_listed_names_that_the_table_lacks_are_absent() -> None:
    parsed = parse_names("ds=a/hr=1\nds=b/hr=01\nregion=eu\nregion=us", KEYS)
    there = (("ds", "b"), ("hr", "1"), ("region", "eu"))
    assert parsed.absent([there]) == ("ds=a/hr=1", "region=us")


@pytest.mark.parametrize("text", ["", "\n", "ds", "dt=1", "ds=a/ds=b", "ds=a\nx"])
def test_a_list_of_other_things_than_partitions_is_refused(text: str) -> None:
    with pytest.raises(BadFilter):
        parse_names(text, KEYS)


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
