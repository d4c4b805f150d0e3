"""Warnings about valid documents."""

from datetime import UTC, datetime

from pipeline.falcon.documents import document
from pipeline.falcon.warnings import warnings_of
from tests.pipeline.falcon.documents import FEED, PROCESS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAILY = FEED.replace("-${HOUR}", "")


def warnings(text: str) -> list[str]:
    return [str(each) for each in warnings_of(document.read(text.encode()), NOW)]


def test_ordinary_documents_have_none() -> None:
    assert warnings(FEED) == []
    assert warnings(PROCESS) == []


def test_several_instances_of_one_partition() -> None:
    (warning,) = warnings(DAILY)
    assert "several instances (hours(1)) have the partition of one day" in warning


def test_many_instances_that_are_due_at_once() -> None:
    (warning,) = warnings(FEED.replace('end="2013-10-26', 'end="2023-10-26'))
    assert warning.endswith(
        "validity: 88,416 instances, since 2013-09-24, are due as soon as it is scheduled"
    )


def test_a_daily_feed_that_begins_more_than_a_year_ago() -> None:
    daily = DAILY.replace("hours(1)", "days(1)").replace("2013-10-2", "2026-10-2")
    old = daily.replace("2013-09-24", "2024-12-30")
    (warning,) = warnings(old)
    assert warning.endswith(
        "validity: 367 instances, since 2024-12-30, are due as soon as it is scheduled"
    )
    assert warnings(daily.replace("2013-09-24", "2025-01-02")) == []


def test_a_feed_without_targets_has_no_instances_to_warn_of() -> None:
    alone = DAILY.replace('type="target"', 'type="source"')
    assert warnings(alone) == []


def test_elements_of_falcon_that_have_no_effect() -> None:
    (mail,) = warnings(FEED.replace("<ACL", '<notification type="email" to="ann@x, bob"/><ACL'))
    assert "notification: bob gets no mail" in mail
    (found,) = warnings(FEED.replace('name="parallel"', 'name="mapBandwidth"'))
    assert "properties: mapBandwidth has no effect" in found
