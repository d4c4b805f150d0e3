"""Values of partition keys that are numbers."""

import pytest

from pipeline.partition_values import canonical, matches

KINDS = {"year": "int", "month": "int", "region": "string"}


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("01", "int", "1"),
        ("00", "smallint", "0"),
        ("1", "bigint", "1"),
        ("01", "string", "01"),
        ("", "int", ""),
        ("__HIVE_DEFAULT_PARTITION__", "int", "__HIVE_DEFAULT_PARTITION__"),
        ("-1", "int", "-1"),
    ],
)
def test_a_number_has_no_leading_zeros(value: str, kind: str, expected: str) -> None:
    assert canonical(value, kind) == expected


@pytest.mark.parametrize("name", ["year=2024/month=1/region=eu", "year=2024/month=01/region=us"])
def test_a_month_matches_with_and_without_its_zero(name: str) -> None:
    assert matches([("year", "2024"), ("month", "01")], name, KINDS)
    assert not matches([("year", "2024"), ("month", "11")], name, KINDS)
    assert not matches([("region", "01")], name, KINDS)
