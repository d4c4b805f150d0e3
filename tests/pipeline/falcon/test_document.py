"""Documents are read as entities, or all of their problems are reported."""

import pytest

from pipeline.falcon.calendar import Frequency, parse_time
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed, Role, Table
from pipeline.falcon.entities.process import Engine, Order, PolicyType, Process, Retry
from pipeline.falcon.errors import BadDocument
from tests.pipeline.falcon.documents import CLUSTER, FALCON, FEED, PROCESS, needs_documents


def test_a_cluster() -> None:
    cluster = document.read(CLUSTER.replace("{name}", "c1").encode())
    assert isinstance(cluster, Cluster)
    assert cluster.endpoint("registry") == "thrift://localhost:9083"
    assert cluster.endpoint("spark") is None
    assert cluster.locations == {"staging": "/staging"}


def test_a_feed() -> None:
    feed = document.read(FEED.encode())
    assert isinstance(feed, Feed)
    source, target = feed.clusters
    assert (source.role, target.role) == (Role.SOURCE, Role.TARGET)
    assert source.validity.start == parse_time("2013-09-24T00:00Z")
    assert (source.retention, target.retention) == (
        Frequency.parse("days(2)"),
        Frequency.parse("days(30)"),
    )
    own, tables = feed.storage_on(source), feed.storage_on(target)
    assert isinstance(own, Table)
    assert isinstance(tables, Table)
    assert (str(own.uri.table), str(tables.uri.table)) == ("src.clicks", "tgt.clicks")
    assert feed.late_cutoff == Frequency.parse("hours(4)")
    assert feed.property("parallel") == "2"


def test_a_process() -> None:
    process = document.read(PROCESS.encode())
    assert isinstance(process, Process)
    assert (process.parallel, process.order) == (2, Order.FIFO)
    assert process.workflow.engine is Engine.HIVE
    assert process.retry == Retry(PolicyType.EXP_BACKOFF, Frequency.parse("minutes(10)"), 3)
    assert process.late is not None
    assert process.late.workflows == {"in": "/app/late.hql"}
    assert process.inputs[0].start.text == "now(-1,0)"


def test_all_unreadable_values_are_reported() -> None:
    broken = FEED.replace("2013-10-26T00:00Z", "2013-02-30T00:00Z").replace("UTC", "Moon/Base")
    with pytest.raises(BadDocument) as caught:
        document.read(broken.replace("catalog:src:", "catalog:src/").encode())
    found = [(each.line, each.element) for each in caught.value.problems]
    assert found == [(6, "timezone"), (10, "validity"), (19, "table")]
    assert "document:6: timezone:" in str(caught.value)


def test_a_bad_expression_is_reported_at_its_line() -> None:
    with pytest.raises(BadDocument) as caught:
        document.read(PROCESS.replace("now(-1,0)", "tomorrow(0)").encode())
    assert [(each.line, each.element) for each in caught.value.problems] == [(10, "input")]


STAGE = """<lifecycle><retention-stage>{}<frequency>hours(10)</frequency><properties>
<property name="{}" value="days(9)"/></properties></retention-stage></lifecycle>"""
LIMIT = "retention.policy.agebaseddelete.limit"


def staged(cluster: str, whole: str) -> bytes:
    text = FEED.replace(
        '<retention limit="days(2)" action="delete"/>',
        f'<retention limit="days(2)" action="delete"/>{cluster}',
    )
    end = "</properties>\n</feed>"
    assert end in text
    return text.replace(end, f"</properties>{whole}</feed>").encode()


def test_a_retention_stage_has_precedence_over_the_retention_element() -> None:
    feed = document.read(staged(STAGE.format("", LIMIT), ""))
    assert isinstance(feed, Feed)
    source, target = feed.clusters
    assert (source.retention, source.eviction) == tuple(
        map(Frequency.parse, ("days(9)", "hours(10)"))
    )
    assert (target.retention, target.eviction) == (Frequency.parse("days(30)"), None)


def test_a_retention_stage_of_the_feed_is_for_clusters_without_one() -> None:
    own = STAGE.format("<policy>AgeBasedDelete</policy>", LIMIT).replace("days(9)", "days(5)")
    feed = document.read(staged(own, STAGE.format("", LIMIT)))
    assert isinstance(feed, Feed)
    assert [str(each.retention) for each in feed.clusters] == ["days(5)", "days(9)"]


@pytest.mark.parametrize(
    ("policy", "name", "reason"),
    [("<policy>Archive</policy>", LIMIT, "policy Archive"), ("", "limit", f"{LIMIT} is missing")],
)
def test_a_retention_stage_that_cannot_be_applied_is_refused(
    policy: str, name: str, reason: str
) -> None:
    with pytest.raises(BadDocument, match=reason):
        document.read(staged(STAGE.format(policy, name), ""))


@needs_documents
def test_the_specification_needs_its_placeholders_filled() -> None:
    for path in sorted((FALCON / "spec004").glob("*.xml")):
        data = path.read_bytes()
        if b"##" in data:
            with pytest.raises(BadDocument, match="placeholder"):
                document.read(data)
        filled = document.substitute(data, {"cluster": "primary-cluster", "processName": "p"})
        assert document.read(filled)
