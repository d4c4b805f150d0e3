"""Entities become schedules."""

from datetime import timedelta

import pytest

from pipeline.falcon.calendar import Frequency, format_time, parse_time
from pipeline.falcon.documents import document
from pipeline.falcon.entities.process import Order, PolicyType
from pipeline.falcon.inputs import inputs_of, outputs_of
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.schedule import (
    LateChecks,
    RetryPolicy,
    Schedule,
    of_feed,
    of_process,
)
from tests.pipeline.exchange.documents import DELTA, exporting, importing
from tests.pipeline.falcon.documents import (
    FALCON,
    FEED,
    PROCESS,
    WHOLE,
    needs_documents,
    read_feed,
    read_process,
)
from tests.pipeline.scheduler.fake_actions import START


def by_action(schedules: tuple[Schedule, ...], action: InstanceAction) -> list[Schedule]:
    return [each for each in schedules if each.key.action is action]


def test_replication_runs_while_both_ends_are_valid() -> None:
    (found,) = by_action(of_feed(read_feed(), START), InstanceAction.REPLICATE)
    assert (found.key.source, found.key.cluster) == ("c1", "c2")
    assert format_time(found.calendar.at(0)) == "2013-09-24T06:00Z"
    assert format_time(found.end) == "2013-10-26T00:00Z"
    assert found.count() == 768 - 6
    assert found.parallel == 2


@needs_documents
def test_the_document_feed_has_768_replications() -> None:
    text = (FALCON / "spec004/customer-table-replicating-feed.xml").read_text()
    schedules = of_feed(read_feed(text), START)
    (found,) = by_action(schedules, InstanceAction.REPLICATE)
    assert found.count() == 768
    (need,) = found.needs(found.calendar.at(5))
    assert need.cluster == "primary-cluster"
    cadences = {each.key.cluster: each.calendar.frequency for each in schedules[1:]}
    assert cadences == {
        "primary-cluster": Frequency.parse("hours(1)"),
        "bcp-cluster": Frequency.parse("days(1)"),
    }


def test_only_the_newest_instance_of_a_whole_table_runs_and_nothing_is_evicted() -> None:
    text = WHOLE.replace(
        "<properties>", '<properties><property name="partitionsPerRun" value="9"/>'
    )
    (found,) = of_feed(read_feed(text), START)
    assert (found.key.action, found.order, found.together) == (
        InstanceAction.REPLICATE,
        Order.LAST_ONLY,
        1,
    )
    ordered = text.replace("<properties>", '<properties><property name="order" value="FIFO"/>')
    assert of_feed(read_feed(ordered), START)[0].order is Order.FIFO


@needs_documents
def test_the_document_process_has_one_instance_and_its_partition() -> None:
    values = {"cluster": "primary-cluster", "processName": "p"}
    texts = {
        name: document.substitute((FALCON / f"spec004/{name}.xml").read_bytes(), values)
        for name in ("input-table-feed", "output-table-feed", "pig-process")
    }
    feeds = [read_feed(texts[name].decode()) for name in ("input-table-feed", "output-table-feed")]
    by_name = {each.name: each for each in feeds}
    pig = read_process(texts["pig-process"].decode())
    (found,) = of_process(pig, by_name.get)
    assert found.count() == 1
    nominal = found.calendar.at(0)
    for need in (*found.needs(nominal), *outputs_of(pig, "primary-cluster", by_name.get, nominal)):
        assert format_time(need.time) == "2012-04-21T00:00Z"
    gaps = [found.retries.gap(attempt) for attempt in (1, 2, 3, 4)]
    assert gaps == [timedelta(minutes=10)] * 3 + [None]


def test_a_retention_stage_says_how_often_old_instances_are_evicted() -> None:
    stage = """<lifecycle><retention-stage><frequency>hours(7)</frequency><properties>
<property name="retention.policy.agebaseddelete.limit" value="days(9)"/></properties>
</retention-stage></lifecycle></feed>"""
    found = by_action(
        of_feed(read_feed(FEED.replace("</feed>", stage)), START), InstanceAction.EVICT
    )
    assert [str(each.calendar.frequency) for each in found] == ["hours(7)", "hours(7)"]


def test_the_retries_of_a_feed_are_properties() -> None:
    def retries(*properties: tuple[str, str]) -> list[RetryPolicy]:
        text = "".join(f'<property name="{n}" value="{v}"/>' for n, v in properties)
        schedules = of_feed(read_feed(FEED.replace("</properties>", f"{text}</properties>")), START)
        copy, *evictions = [
            each for each in schedules if each.key.action is not InstanceAction.WATCH
        ]
        return [copy.retries, evictions[0].retries]

    ten = timedelta(minutes=10)
    assert retries() == [
        RetryPolicy(PolicyType.EXP_BACKOFF, ten, 3),
        RetryPolicy(PolicyType.PERIODIC, ten, 3),
    ]
    given = (("retryPolicy", "final"), ("retryDelay", "hours(2)"), ("retryAttempts", "0"))
    assert retries(*given) == [RetryPolicy(PolicyType.FINAL, timedelta(hours=2), 0)] * 2
    assert retries(("retryAttempts", "9"))[0].attempts == 9


def test_evictions_are_at_once_and_outlive_the_feed() -> None:
    (_, hourly, daily) = (
        each
        for each in of_feed(read_feed(), START)
        if each.key.action is not InstanceAction.REPLICATE
    )
    assert hourly.calendar.at(0) == START
    assert hourly.calendar.at(1) == START + timedelta(days=1)  # the limit is days(2)
    assert daily.end > parse_time("2013-10-27T00:00Z") + timedelta(days=30)


def test_a_feed_with_a_service_level_is_watched() -> None:
    (found,) = by_action(of_feed(read_feed(), START), InstanceAction.WATCH)
    assert (found.low, found.high) == (timedelta(hours=2), timedelta(hours=3))


def test_inputs_of_a_window() -> None:
    nominal = parse_time("2013-09-25T05:30Z")
    needs = list(inputs_of(read_process(), "c1", {"clicks": read_feed()}.get, nominal))
    # 04:30 is between two instances: the one before; both ends are in
    assert [format_time(each.time) for each in needs] == [
        "2013-09-25T04:00Z",
        "2013-09-25T05:00Z",
    ]
    (output,) = outputs_of(read_process(), "c1", {"clicks": read_feed()}.get, nominal)
    assert format_time(output.time) == "2013-09-25T05:00Z"


@pytest.mark.parametrize(
    ("policy", "minutes"),
    [
        (PolicyType.PERIODIC, [10, 10, 10, None]),
        (PolicyType.EXP_BACKOFF, [10, 20, 40, None]),
        (PolicyType.FINAL, [None, None, None, None]),
    ],
)
def test_retry_policies(policy: PolicyType, minutes: list[int | None]) -> None:
    retries = RetryPolicy(policy, timedelta(minutes=10), 3)
    wanted = [None if each is None else timedelta(minutes=each) for each in minutes]
    assert [retries.gap(attempt) for attempt in (1, 2, 3, 4)] == wanted


def late_checks(policy: PolicyType, hours: int, cutoff: float) -> LateChecks:
    end = timedelta(hours=cutoff)
    return LateChecks(policy, timedelta(hours=hours), lambda nominal: nominal + end)


@pytest.mark.parametrize(
    ("checks", "hours"),
    [
        (late_checks(PolicyType.EXP_BACKOFF, 1, 6), [1, 2, 4, 6, None]),
        (late_checks(PolicyType.PERIODIC, 4, 6), [4, 6, None]),
        (late_checks(PolicyType.PERIODIC, 3, 6), [3, 6, None]),
        (late_checks(PolicyType.EXP_BACKOFF, 1, 0.5), [0.5, None]),
        (late_checks(PolicyType.FINAL, 1, 6), [6, None]),
        (late_checks(PolicyType.FINAL, 1, 0), [None]),
    ],
)
def test_the_last_check_is_at_the_cutoff(checks: LateChecks, hours: list[float | None]) -> None:
    nominal = parse_time("2013-09-25T00:00Z")
    times = [checks.time(nominal, number) for number in range(len(hours))]
    assert times == [None if h is None else nominal + timedelta(hours=h) for h in hours]


@pytest.mark.parametrize(("hours", "number"), [(1, 1), (3.9, 2), (4, 3), (5.9, 3), (99, 4)])
def test_one_check_replaces_all_that_are_due(hours: float, number: int) -> None:
    nominal = parse_time("2013-09-25T00:00Z")
    checks = late_checks(PolicyType.EXP_BACKOFF, 1, 6)
    assert checks.after(nominal, 0, nominal + timedelta(hours=hours)) == number


@pytest.mark.parametrize(
    ("policy", "hours"),
    [("periodic", [1, 2, 3, 4, None]), ("exp-backoff", [1, 2, 4, None]), ("final", [4, None])],
)
def test_late_checks_follow_their_policy(policy: str, hours: list[int | None]) -> None:
    text = PROCESS.replace('late-process policy="periodic"', f'late-process policy="{policy}"')
    (found,) = of_process(read_process(text), {"clicks": read_feed()}.get)
    assert found.late is not None
    nominal = parse_time("2013-09-25T00:00Z")
    times = [found.late.time(nominal, number) for number in range(len(hours))]
    assert times == [None if h is None else nominal + timedelta(hours=h) for h in hours]
    assert found.order is Order.FIFO


def exchange_of(text: str) -> Schedule:
    actions = (InstanceAction.IMPORT, InstanceAction.EXPORT)
    (schedule,) = [each for each in of_feed(read_feed(text), START) if each.key.action in actions]
    return schedule


def test_an_incremental_import_is_due_when_its_period_has_ended() -> None:
    text = importing(DELTA.format("at"))
    found = exchange_of(text)
    assert (found.opens, found.order) == (timedelta(days=1), Order.FIFO)
    assert found.needs(START) == ()
    delayed = exchange_of(text.replace('type="source"', 'type="source" delay="hours(3)"'))
    assert delayed.opens == timedelta(days=1, hours=3)
    berlin = exchange_of(importing(DELTA.format("at"), zone="<timezone>Europe/Berlin</timezone>"))
    assert berlin.opens > timedelta(days=1, hours=1), "a day of 25 hours"


def test_only_the_newest_full_import_runs_and_an_export_waits_for_its_data() -> None:
    full = exchange_of(importing())
    assert (full.opens, full.order, full.late) == (timedelta(0), Order.LAST_ONLY, None)
    export = exchange_of(exporting(update_key="id"))
    assert [need.feed for need in export.needs(START)] == ["orders"]
