"""Forms for clusters, feeds and processes, and their documents."""

from datetime import UTC, datetime
from typing import Any

import pytest

from console.facts.entity_forms import FORMS, defaults, document_of, judge
from console.sources.entity_reader import EntityReader
from pipeline.falcon.documents import document
from pipeline.falcon.entities.feed import Feed, Role
from pipeline.falcon.entities.identity import Kind
from pipeline.falcon.entity_set import EntitySet
from tests.console.browser import Browser, opened
from tests.console.fake_places import entities
from tests.console.fake_sources import fake_sources, open_app

NOW = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
KNOWN = EntitySet.of(EntityReader().read(entities()).values())
PLACES = {"source": "c1", "target": "c2", "cluster": "c1"}


@pytest.mark.parametrize("kind", list(FORMS))
def test_a_new_form_makes_a_valid_document(kind: Kind) -> None:
    text = document_of(kind, {**defaults(kind, NOW), **PLACES})
    found = judge(text, KNOWN, NOW)
    assert found.problems == ()
    assert found.warnings == ()
    assert document.read(text.encode()).key.kind is kind


def test_every_field_is_in_the_document() -> None:
    for kind, groups in FORMS.items():
        for _, fields in groups:
            for field in fields:
                values = {
                    **defaults(kind, NOW),
                    "input": "clicks",
                    "output": "clicks",
                    "target": "c2",
                }
                values |= {"retry": "periodic", field.name: "marked-value"}
                assert "marked-value" in document_of(kind, values), (kind, field.name)


def test_a_feed_without_target_is_not_copied() -> None:
    values = {**defaults(Kind.FEED, NOW), "source": "c1", "target": ""}
    found = document.read(document_of(Kind.FEED, values).encode())
    assert isinstance(found, Feed)
    assert found.with_role(Role.TARGET) == ()


def test_a_table_without_partitions_is_not_kept() -> None:
    whole = {"partition": "*", "retention": "", "target_retention": ""}
    text = document_of(Kind.FEED, {**defaults(Kind.FEED, NOW), **PLACES, **whole})
    assert judge(text, KNOWN, NOW).problems == ()
    kept = document_of(Kind.FEED, {**defaults(Kind.FEED, NOW), **PLACES, "partition": "*"})
    assert "Leave retention out" in str(judge(kept, KNOWN, NOW).problems)


def test_values_are_escaped() -> None:
    values = {**defaults(Kind.FEED, NOW), **PLACES, "description": '<a b="c">&'}
    found = document.read(document_of(Kind.FEED, values).encode())
    assert isinstance(found, Feed)
    assert found.description == '<a b="c">&'


def test_problems_name_their_lines() -> None:
    values = {**defaults(Kind.FEED, NOW), **PLACES, "frequency": "hourly", "target": "nowhere"}
    found = judge(document_of(Kind.FEED, values), KNOWN, NOW)
    assert any("hourly" in each.reason for each in found.problems)
    assert all(each.line > 0 for each in found.problems)
    assert judge("", KNOWN, NOW).problems
    assert judge("<feed", KNOWN, NOW).problems
    assert judge("x" * 5_000_000, KNOWN, NOW).problems


def browser() -> Browser:
    sources = fake_sources()
    fake: Any = sources.lifecycle
    fake.stored = entities()
    return opened(open_app(sources))


def test_the_document_follows_the_fields() -> None:
    page = browser()
    assert page.get("/new?kind=feed").text.count("<fieldset>") == len(FORMS[Kind.FEED])
    values = {**defaults(Kind.FEED, NOW), **PLACES, "kind": "feed", "name": "visits"}
    text = page.post("/new/draft", values).text
    assert "&lt;feed name=&#34;visits&#34;" in text
    assert "Valid" in text
    wrong = page.post("/new/draft", {**values, "table": "a.b", "partition": "ds=x"}).text
    assert "no partition key is made of a date" in wrong


def test_a_document_is_checked_as_it_is_typed() -> None:
    page = browser()
    answer = page.post("/new/check", {"xml": "<feed"})
    assert answer.status == 200
    assert "Not valid" in answer.text
    assert page.get("/new?kind=dance").status == 404
    assert page.get("/new?kind=datasource").status == 404, "it has no form"
    assert page.post("/new/draft", {"kind": "dance"}).status == 404
