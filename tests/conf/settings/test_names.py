"""Every spelling of a setting has one canonical name."""

import pytest

from conf.settings.names import canonical_name, is_of_server


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.x",
        "Spark.SQL.X",
        " spark.sql.x ",
        "`spark.sql.x`",
        "set:spark.sql.x",
        "set:hiveconf:spark.sql.x",
        "set:hivevar:spark.sql.x",
        "hivevar:spark.sql.x",
        "hiveconf:spark.sql.x",
        "HIVEVAR: spark.sql.x",
        "set:metaconf:spark.sql.x",
        "hivevar:hiveconf:spark.sql.x",
    ],
)
def test_all_spellings_have_one_canonical_name(key: str) -> None:
    assert canonical_name(key) == "spark.sql.x"


@pytest.mark.parametrize(
    "key", ["system:a", "set:system:a", "SET:System:a", "env:a", "set:env:a", "set:hiveconf:env:a"]
)
def test_properties_of_the_server(key: str) -> None:
    assert is_of_server(key)


def test_an_ordinary_setting_is_not_of_the_server() -> None:
    assert not is_of_server("set:hiveconf:environment")
    assert not is_of_server("use:database")
