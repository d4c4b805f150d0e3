"""Feeds of whole tables: elements that need dates are refused."""

import pytest

from pipeline.falcon.rules import entity_rules
from tests.pipeline.falcon.documents import DAILY, FEED, PROCESS, WHOLE
from tests.pipeline.falcon.rules.test_entity_rules import EntitySet, cluster, everything, read

CLUSTERS = [cluster("c1"), cluster("c2")]
END = 'end="2013-10-26T00:00Z"/>'
EXPORT = '<export><target name="a" tableName="t"><load type="updateonly"/></target></export>'


def test_a_feed_of_a_whole_table_has_no_problem() -> None:
    assert everything(read(WHOLE), EntitySet(CLUSTERS)) == []


@pytest.mark.parametrize(
    ("old", "new", "element", "reason"),
    [
        (END, END + '<retention limit="days(2)" action="delete"/>', "retention", "Leave retention"),
        (END, END + '<sla slaLow="hours(1)" slaHigh="hours(2)"/>', "sla", "watch the lag"),
        ("<timezone>", '<sla slaLow="hours(1)" slaHigh="hours(2)"/><timezone>', "sla", "the lag"),
        ("<clusters>", '<late-arrival cut-off="hours(4)"/><clusters>', "late-arrival", "no data"),
        ("tgt:clicks#*", f"tgt:clicks#{DAILY}", "table", "one is a whole table, one is not"),
        ("src:clicks#*", f"src:clicks#{DAILY}", "table", "one is a whole table, one is not"),
        ("tgt:clicks#*", "tgt:clicks#region=us", "table", "one is a whole table, one is not"),
        (
            END,
            f"{END}{EXPORT}",
            "export",
            "is not one partition",
        ),
    ],
)
def test_elements_that_need_dates_are_refused(
    old: str, new: str, element: str, reason: str
) -> None:
    found = everything(read(WHOLE, (old, new)), EntitySet(CLUSTERS))
    assert any(each.element == element and reason in each.reason for each in found), found


def test_partitions_need_a_retention() -> None:
    feed = read(FEED, ('<retention limit="days(2)" action="delete"/>', ""))
    (problem,) = everything(feed, EntitySet(CLUSTERS))
    assert str(problem) == "9: cluster: retention is missing"


def test_a_feed_of_paths_cannot_name_a_whole_table_in_the_catalog() -> None:
    paths = read(
        FEED,
        (f'<table uri="catalog:tgt:clicks#{DAILY}"/>', ""),
        (
            f'<table uri="catalog:src:clicks#{DAILY}"/>',
            '<locations><location type="data" path="/x/${YEAR}"/></locations>',
        ),
        ("<properties>", '<properties><property name="catalog.table" value="catalog:a:b#*"/>'),
    )
    found = [str(each) for each in everything(paths, EntitySet(CLUSTERS))]
    assert any("catalog.table: catalog:a:b#* names no partition" in each for each in found), found


def test_processes_read_and_write_partitions() -> None:
    among = entity_rules.among(read(PROCESS), EntitySet([*CLUSTERS, read(WHOLE)]))
    reason = "feed clicks is of a whole table: processes read and write partitions"
    assert [(each.element, each.reason) for each in among] == [
        ("input", reason),
        ("output", reason),
    ]
