"""Table URIs (FA-U1, FA-U2)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.names import TableRef, partition_name
from pipeline.falcon import catalog_uri
from pipeline.falcon.calendar import parse_time
from pipeline.falcon.errors import BadCatalogUri
from tests.pipeline.falcon.documents import FALCON, needs_documents

HOURLY = "catalog:src_demo_db:customer_raw#ds=${YEAR}-${MONTH}-${DAY}-${HOUR}"
times = st.datetimes(datetime(1000, 1, 1), datetime(9998, 1, 1)).map(
    lambda time: time.replace(second=0, microsecond=0, tzinfo=UTC)
)


@needs_documents
def test_golden() -> None:
    lines = (FALCON / "golden/catalog_uris.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line[0] != "#"]
    rows = [row for row in rows if "template" not in row[1]]
    assert len(rows) >= 7
    for text, verdict, _ in rows:
        if verdict.startswith("invalid"):
            with pytest.raises(BadCatalogUri):
                catalog_uri.parse(text)
        else:
            assert catalog_uri.parse(text)


def test_parts() -> None:
    uri = catalog_uri.parse("catalog:clicksdb:clicks#ds=${YEAR}-${MONTH}-${DAY};region=us")
    assert uri.table == TableRef("clicksdb", "clicks")
    assert uri.dated == ("ds",)
    assert [key for key, _ in uri.keys] == ["ds", "region"]
    assert uri.template("${hcatNode}") == (
        "${hcatNode}/clicksdb/clicks/ds=${YEAR}-${MONTH}-${DAY};region=us"
    )


def test_a_partition_and_its_notations() -> None:
    uri = catalog_uri.parse("catalog:clicksdb:clicks#ds=20130918;region=us")
    spec = uri.partition(parse_time("2013-01-01T00:00Z"))
    assert partition_name(spec) == "ds=20130918/region=us"


@given(times)
def test_values_have_the_digits_of_the_time(time: datetime) -> None:
    whole = catalog_uri.parse(
        "catalog:d:t#year=${YEAR};md=${MONTH}-${DAY};region=in;hm=${HOUR}${MINUTE}"
    )
    assert whole.dated == ("year", "md", "hm")
    values = dict(whole.partition(time))
    assert values.pop("region") == "in"
    assert "".join(values.values()) == f"{time.year:04d}{time:%m-%d%H%M}"


def test_the_document_partition() -> None:
    spec = catalog_uri.parse(HOURLY).partition(parse_time("2013-09-24T05:00Z"))
    assert spec == (("ds", "2013-09-24-05"),)


def test_a_variable_that_is_no_date_selects_every_value() -> None:
    uri = catalog_uri.parse("catalog:default:clicks#ds=${YEAR}-${MONTH}-${DAY};region=${region}")
    assert uri.free == {"region"}
    assert uri.dated == ("ds",)
    assert uri.variables == {"YEAR", "MONTH", "DAY"}
    assert uri.partition(parse_time("2013-09-24T05:00Z")) == (("ds", "2013-09-24"),)
    assert uri.template("x") == ("x/default/clicks/ds=${YEAR}-${MONTH}-${DAY};region=${region}")


def test_a_star_names_a_whole_table() -> None:
    uri = catalog_uri.parse("catalog:default:clicks#*")
    assert uri.whole
    assert not catalog_uri.parse(HOURLY).whole
    assert uri.partition(parse_time("2013-09-24T05:00Z")) == ()
    assert str(uri) == "catalog:default:clicks#*"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "catalog:a:b",
        "catalog:a:b#",
        "catalog:a:b#ds",
        "catalog:a:b#*;ds=1",
        "catalog:a:b#ds=1;*",
        "catalog:a:b#ds=",
        "catalog:a:#d=1",
        "catalog:a:b#d=1;d=2",
        "catalog:a:b#ds=${year}",
        "catalog:a:b#ds=${YEAR};hour=${Hour}",
        "catalog:a:b#ds=${YEAR}-${zone}",
        "catalog:a:b#ds=${YEAR};colo=${cluster.colo}",
        "catalog:a:b#ds=${YEAR};one=${zone};other=${zone}",
        "catalog:a:b#ds=${YEAR};zone=${}",
        "catalog:a:b#d='1'",
        "catalog:a b:c#d=1",
    ],
)
def test_bad_table_uris_are_refused(text: str) -> None:
    with pytest.raises(BadCatalogUri):
        catalog_uri.parse(text)
