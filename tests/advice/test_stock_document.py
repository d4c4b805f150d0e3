"""Stocks are read from JSON documents."""

import json

import pytest

from advice.errors import BadStock
from advice.stock import Part
from advice.stock_document import read_stock
from conf.names import ClusterName, TableRef

EAST, WEST = ClusterName("east"), ClusterName("west")


def described(**table: object) -> str:
    ddl = "CREATE TABLE d.t (a INT) PARTITIONED BY (country STRING)"
    return json.dumps({"clusters": ["east", "west"], "tables": [{"ddl": ddl, **table}]})


def test_partitions_have_sizes_and_replicas_of_their_own() -> None:
    stock = read_stock(
        described(
            partitions=[
                {"name": "country=de", "bytes": 30, "primary": "west", "copies": ["east"]},
                {"name": "country=fr", "bytes": 10},
                "country=it",
            ]
        )
    )
    table = stock.stock_of(TableRef("d", "t"))
    assert table is not None
    assert table.known_size(0) == 60  # the third has the mean of the others
    german, french = Part(table.ref, 0), Part(table.ref, 1)
    assert [each.primary for each in table.replicas(german)] == ["west"]
    assert table.bytes_outside(german, EAST, 0) == 30
    assert table.bytes_outside(french, EAST, 0) == 0
    assert table.name(french) == "d.t country=fr"


def test_views_and_days() -> None:
    document = {
        "clusters": {"east": "hdfs://e", "west": "hdfs://w"},
        "tables": [
            {
                "ddl": "CREATE TABLE t (a INT) PARTITIONED BY (ds DATE)",
                "database": "d",
                "bytes": 310,
                "days": {"first": "2026-01-01", "last": "2026-01-31"},
            },
            {"ddl": "CREATE VIEW d.v AS SELECT 1 AS a"},
        ],
    }
    stock = read_stock(json.dumps(document))
    table = stock.stock_of(TableRef("d", "t"))
    assert table is not None
    assert table.placed is not None
    assert len(table.placed.partitions) == 31
    newest = Part(table.ref, 0)
    assert table.bytes_outside(newest, WEST, 0) == 10
    assert table.written_a_day(newest, 0, 0) == 10
    assert table.written_a_day(Part(table.ref, 1), 0, 0) == 0
    assert stock.filesystems[EAST] == "hdfs://e"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"clusters": []}', "no cluster"),
        ('{"clusters": ["a"], "default": "b", "tables": []}', "none of the clusters"),
        ('{"clusters": ["a"], "tables": {}}', "no list"),
        ('{"clusters": ["a"], "tables": [{"ddl": "SELECT 1"}]}', "not understood"),
        (described(size=1), "has 'size'"),
        (described(primary="south"), "no cluster south"),
        (described(bytes=-1), "no number"),
        (described(partitions=["ds=1"]), "no partition of its keys"),
        (described(partitions=["x"]), "not a partition name"),
        (described(days={"first": "2026-01-01"}), "first and last"),
    ],
)
def test_faults_are_named(text: str, why: str) -> None:
    with pytest.raises(BadStock, match=why):
        read_stock(text)
