"""Every validation rule of the checklist: a document that breaks it, and its reported problem."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Process
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.rules import entity_rules
from tests.pipeline.falcon.documents import CLUSTER, FALCON, FEED, PROCESS, needs_documents


@dataclass
class EntitySet:
    entities: list[Entity] = field(default_factory=list)

    def cluster(self, name: str) -> Cluster | None:
        found = (each for each in self.entities if isinstance(each, Cluster))
        return next((each for each in found if each.name == name), None)

    def feed(self, name: str) -> Feed | None:
        return next((each for each in self.feeds() if each.name == name), None)

    def datasource(self, name: str) -> Datasource | None:
        return None

    def feeds(self) -> Iterable[Feed]:
        return [each for each in self.entities if isinstance(each, Feed)]


def cluster(name: str, *changes: tuple[str, str]) -> Entity:
    return read(CLUSTER.replace("{name}", name), *changes)


def read(text: str, *changes: tuple[str, str]) -> Entity:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return document.read(text.encode())


def everything(entity: Entity, entity_set: EntitySet) -> list[DocumentProblem]:
    return [*entity_rules.alone(entity), *entity_rules.among(entity, entity_set)]


WORLD = EntitySet([cluster("c1"), cluster("c2"), read(FEED)])


@pytest.mark.parametrize("entity", [cluster("c1"), read(FEED), read(PROCESS)])
def test_valid_documents_have_no_problem(entity: Entity) -> None:
    assert everything(entity, WORLD) == []


@pytest.mark.parametrize(
    ("old", "new", "element", "reason"),
    [
        ('name="staging"', 'name="temp"', "locations", "staging is missing"),
        (
            '<location name="staging" path="/staging"/>',
            '<location name="staging" path="/s"/><location name="working" path="/s/"/>',
            "locations",
            "both",
        ),
        ("thrift://localhost:9083", "Hcat", "interface", "thrift://host:port"),
        ("thrift://localhost:9083", "thrift://localhost", "interface", "thrift://host:port"),
    ],
)
def test_clusters(old: str, new: str, element: str, reason: str) -> None:
    (problem,) = everything(cluster("c1", (old, new)), WORLD)
    assert problem.element == element
    assert reason in problem.reason


@pytest.mark.parametrize(
    ("old", "new", "element", "reason"),
    [
        ('name="c1" type', 'name="c9" type', "cluster", "no cluster c9"),
        ('name="c1" type', 'name="c2" type', "clusters", "2 times"),
        ('type="source"', 'type="target"', "clusters", "no cluster is a source"),
        ('type="target"', 'type="source"', "clusters", "one source"),
        ("<groups>", "<partitions/><groups>", "partitions", "has none"),
        ('start="2013-09-24T00:00Z"', 'start="2014-09-24T00:00Z"', "validity", "after its end"),
        ('cut-off="hours(4)"', 'cut-off="days(3)"', "retention", "shorter than the late"),
        ('slaLow="hours(2)"', 'slaLow="hours(5)"', "sla", "exceeds slaHigh"),
        ('slaHigh="hours(3)"', 'slaHigh="days(3)"', "sla", "exceeds retention"),
        ("tgt:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR}", "tgt:clicks#ds=${YEAR}", "table", "date"),
        ('start="2013-09-24T06:00Z"', 'start="2013-10-26T00:00Z"', "validity", "overlap"),
        (
            '<property name="parallel" value="2"/>',
            '<property name="a" value="2"/><property name="a" value="3"/>',
            "properties",
            "a is there 2 times",
        ),
        (
            '<table uri="catalog:tgt:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
            '<locations><location type="data" path="/x/${YEAR}"/></locations>',
            "c2",
            "tables and paths",
        ),
    ],
)
def test_feeds(old: str, new: str, element: str, reason: str) -> None:
    found = everything(read(FEED, (old, new)), WORLD)
    assert any(each.element == element and reason in each.reason for each in found), found


def test_a_table_needs_a_date() -> None:
    static = FEED.replace("ds=${YEAR}-${MONTH}-${DAY}-${HOUR}", "ds=20130918")
    assert "made of a date" in everything(read(static), WORLD)[0].reason


def test_a_table_needs_a_registry() -> None:
    bare = cluster(
        "c2", ('type="registry" endpoint="thrift://localhost:9083"', 'type="workflow" endpoint="x"')
    )
    (problem,) = entity_rules.among(read(FEED), EntitySet([cluster("c1"), bare]))
    assert "no registry" in problem.reason


def test_groups_agree() -> None:
    other = read(FEED, ('name="clicks"', 'name="other"'), ("hours(1)</f", "days(1)</f"))
    (problem,) = entity_rules.among(other, WORLD)
    assert problem.element == "groups"
    daily = FEED.replace("-${HOUR}", "").replace('name="clicks"', 'name="other"')
    (problem,) = entity_rules.among(read(daily), WORLD)
    assert "date pattern" in problem.reason


@pytest.mark.parametrize(
    ("old", "new", "element", "reason"),
    [
        ('name="c1"', 'name="c9"', "cluster", "no cluster c9"),
        ('start="2013-09-25', 'start="2013-09-26', "validity", "before its end"),
        ('name="in" feed="clicks"', 'name="in" feed="gone"', "input", "no feed gone"),
        ('name="out" feed="clicks"', 'name="in" feed="clicks"', "inputs", "in is there 2"),
        ('end="now(0,0)"', 'end="now(0,0)" partition="us"', "input", "is a table"),
        ('end="now(0,0)"', 'end="now(0,0)" optional="true"', "input", "optional"),
        ('start="now(-1,0)"', 'start="now(-25,0)"', "input", "outside the validity"),
        ('start="now(-1,0)"', 'start="now(1,0)"', "input", "starts after its end"),
        ('instance="now(0,0)"', 'instance="lastYear(0,0,0,0)"', "output", "outside"),
        ('start="2013-09-25', 'start="2013-09-24', "input", "outside the validity"),
        ('late-input input="in"', 'late-input input="no"', "late-input", "not one of"),
        ('engine="hive"', 'engine="spark"', "workflow", "spark-attributes"),
        ('path="/app/summary.hql"', 'path=" "', "workflow", "path is empty"),
        ('name="c1"', 'name="c2"', "input", "outside the validity"),
    ],
)
def test_processes(old: str, new: str, element: str, reason: str) -> None:
    if 'name="c2"' in new:
        new_world = WORLD
        entity = read(PROCESS, (old, new), ("2013-09-25T00:00Z", "2013-09-24T01:00Z"))
    else:
        new_world, entity = WORLD, read(PROCESS, (old, new))
    found = everything(entity, new_world)
    assert any(each.element == element and reason in each.reason for each in found), found


def test_an_input_reaching_back_beyond_retention() -> None:
    process = read(
        PROCESS,
        ("now(-1,0)", "now(-49,0)"),
        ("2013-09-25T", "2013-09-27T"),
        ("2013-09-26T", "2013-09-28T"),
    )
    (problem,) = everything(process, WORLD)
    assert "keeps days(2)" in problem.reason


def test_a_feed_must_be_on_the_cluster_of_the_process() -> None:
    process = read(PROCESS, ('name="c1"', 'name="c3"'))
    found = entity_rules.among(process, EntitySet([*WORLD.entities, cluster("c3")]))
    assert {each.element for each in found} == {"input", "output"}
    assert all("not on cluster c3" in each.reason for each in found)


@needs_documents
def test_the_specification_is_valid_as_a_whole() -> None:
    values = {"cluster": "primary-cluster", "processName": "table-process"}
    entities = [
        document.read(document.substitute(path.read_bytes(), values))
        for path in sorted((FALCON / "spec004").glob("*.xml"))
    ]
    assert len(entities) == 6
    entity_set = EntitySet(entities)
    for each in entities:
        assert everything(each, entity_set) == []
    process = next(each for each in entities if isinstance(each, Process))
    assert process.calendar_on(process.clusters[0]).count(process.clusters[0].validity.end) == 1


def test_an_engine_that_is_not_configured_is_refused_at_schedule_time() -> None:
    def engines(engine: object) -> str | None:
        return "no pig command is configured" if "PIG" in str(engine) else None

    pig = read(PROCESS, ('engine="hive"', 'engine="pig"'))
    assert [each.element for each in entity_rules.unsupported(pig, engines)] == ["workflow"]
    assert list(entity_rules.unsupported(read(FEED), engines)) == []


def test_counting_inputs_have_two_ends_of_one_kind() -> None:
    def refused(start: str, end: str) -> list[str]:
        ends = ('start="now(-1,0)" end="now(0,0)"', f'start="{start}" end="{end}"')
        return [each.reason for each in entity_rules.alone(read(PROCESS, ends))]

    assert refused("latest(-3)", "latest(0)") == []
    assert refused("future(0,5)", "future(2,5)") == []
    assert refused("latest(0)", "latest(-1)") == ["latest(0) is after latest(-1)"]
    assert refused("future(1,5)", "future(0,5)") == ["future(1,5) is after future(0,5)"]
    for start, end in (("latest(0)", "now(0,0)"), ("latest(0)", "future(0,1)")):
        assert "both are to be times, or to count alike" in refused(start, end)[0]


def test_an_output_names_one_instance() -> None:
    output = read(PROCESS, ('instance="now(0,0)"', 'instance="latest(0)"'))
    [found] = entity_rules.alone(output)
    assert (found.element, "counts instances" in found.reason) == ("output", True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order", "newest"),
        ("parallel", "many"),
        ("partitionsPerRun", "0"),
        ("timeout", "1h"),
        ("propagateDeletes", "yes"),
        ("retryPolicy", "often"),
        ("retryDelay", "10"),
        ("retryAttempts", "-1"),
    ],
)
def test_properties_of_feeds_have_values_that_can_be_used(name: str, value: str) -> None:
    [found] = entity_rules.alone(
        read(FEED, ('name="parallel" value="2"', f'name="{name}" value="{value}"'))
    )
    assert found.element == "properties"
    assert found.reason.startswith(f"{name}: ")


FREE = "region=${region}"


def free_feed(*changes: tuple[str, str]) -> Entity:
    """A feed whose regions are free in its own table and in that of the target."""
    return read(FEED.replace("region=us", FREE), *changes)


def test_a_free_key_is_accepted_in_a_feed_that_is_replicated_and_read() -> None:
    feed = free_feed()
    world = EntitySet([cluster("c1"), cluster("c2"), feed])
    output = '<outputs><output name="out" feed="clicks" instance="now(0,0)"/></outputs>'
    assert everything(feed, world) == []
    assert everything(read(PROCESS, (output, "")), world) == []


def test_an_output_cannot_have_a_free_key() -> None:
    world = EntitySet([cluster("c1"), cluster("c2"), free_feed()])
    (problem,) = everything(read(PROCESS), world)
    assert problem.element == "output"
    assert "region has any value" in problem.reason


def test_a_key_is_free_in_all_tables_of_a_feed_or_in_none() -> None:
    (problem,) = everything(read(FEED, ("region=us", FREE)), WORLD)
    assert "on c2 are region, those of the feed (none)" in problem.reason


def test_a_property_is_no_value_of_a_free_key() -> None:
    feed = free_feed(('name="parallel" value="2"', 'name="region" value="us"'))
    (problem,) = everything(feed, WORLD)
    assert "${region} stands for every value" in problem.reason


def test_a_free_key_cannot_be_imported() -> None:
    (old, source) = (
        '<retention limit="days(2)" action="delete"/>',
        """
      <retention limit="days(2)" action="delete"/>
      <import><source name="shop" tableName="t">
        <extract type="full"><mergepolicy>snapshot</mergepolicy></extract>
      </source></import>""",
    )
    reasons = [each.reason for each in everything(free_feed((old, source)), WORLD)]
    assert any("region has any value" in reason for reason in reasons)
