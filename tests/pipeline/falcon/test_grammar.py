"""The grammar accepts and refuses the documents that Falcon does, with line and reason."""

import time

import pytest

from pipeline.falcon.documents import grammar, tree
from pipeline.falcon.errors import BadDocument, DocumentProblem
from tests.pipeline.falcon.documents import CLUSTER, FALCON, FEED, PROCESS, needs_documents

FILES = FALCON / "apache-falcon-470e5e9f"


def verdict(data: bytes) -> tuple[DocumentProblem, ...]:
    try:
        return grammar.check(tree.parse(data))
    except BadDocument as error:
        return error.problems


def manifest() -> list[tuple[str, str]]:
    path = FALCON / "MANIFEST.tsv"
    if not path.exists():
        return []
    rows = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]
    return [(row[0], row[1]) for row in rows]


@needs_documents
def test_the_manifest_was_read() -> None:
    rows = manifest()
    assert len(rows) > 60
    assert any(not verdict.endswith(" VALID") for _, verdict in rows)


@pytest.mark.parametrize(("path", "expected"), manifest())
def test_falcon_documents(path: str, expected: str) -> None:
    problems = verdict((FILES / path).read_bytes())
    assert bool(problems) != expected.endswith(" VALID"), problems


@needs_documents
def test_a_fault_is_at_its_line_and_element() -> None:
    config = FILES / "common/src/test/resources/config"
    (feed,) = verdict((config / "feed/invalid-feed.xml").read_bytes())
    assert (feed.line, feed.element) == (49, "table")
    (process,) = verdict((config / "process/process-bad-pipeline.xml").read_bytes())
    assert (process.line, process.element) == (21, "pipelines")


@pytest.mark.parametrize("document", [CLUSTER.replace("{name}", "c1"), FEED, PROCESS])
def test_the_small_documents_are_valid(document: str) -> None:
    assert verdict(document.encode()) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "element", "reason"),
    [
        ("<frequency>hours(1)", "<frequency>hours(0)", 4, "frequency", "hours(0)"),
        ("<frequency>hours(1)", "<frequency>weeks(1)", 4, "frequency", "weeks(1)"),
        ('limit="days(2)" ', "", 11, "retention", "limit is missing"),
        ('type="target"', 'type="copy"', 13, "cluster", "not one of source, target"),
        ('end="2013-10-26T00:00Z"', 'end="2013-10-26"', 10, "validity", "end"),
        ("<groups>online</groups>", "<groups>a, b</groups>", 3, "groups", "no spaces"),
        ('name="clicks"', 'name="##feed##"', 2, "feed", "placeholder"),
        ("<schema ", "<scheme ", 21, "scheme", "expected schema"),
        ('provider="hcatalog"', 'provider="hcatalog" x="1"', 21, "schema", "attribute x"),
        ('name="parallel" value="2"/>', 'name="a" value="b">t</property>', 22, "property", "text"),
        ("</properties>", "</properties><ACL/>", 22, "ACL", "not expected here"),
    ],
)
def test_faults_of_a_feed(old: str, new: str, line: int, element: str, reason: str) -> None:
    assert FEED.count(old) >= 1
    problems = verdict(FEED.replace(old, new, 1).encode())
    assert [(each.line, each.element) for each in problems] == [(line, element)]
    assert reason in problems[0].reason


def test_every_fault_is_reported() -> None:
    broken = PROCESS.replace("FIFO", "NONE").replace("<parallel>2", "<parallel>13")
    assert [each.element for each in verdict(broken.encode())] == ["parallel", "order"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'<!DOCTYPE a [<!ENTITY x "yy">]><a>&x;</a>', "DOCTYPE"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "DOCTYPE"),
        (b"<a>&undefined;</a>", "not well-formed"),
        (b"", "not well-formed"),
        (b"<a>", "not well-formed"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "un"),
        (b"<a>" * 40 + b"</a>" * 40, "nested deeper"),
        (b"<a>" + b"<b/>" * 30_000 + b"</a>", "more than"),
        (b" " * (tree.MAX_BYTES + 1), "larger than"),
    ],
    ids=["bomb", "external", "entity", "empty", "open", "encoding", "deep", "many", "large"],
)
def test_hostile_documents_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BadDocument, match=reason):
        tree.parse(data)


def test_no_text_is_slow() -> None:
    """FA-E6: the published patterns take minutes for these; the bound here is generous."""
    started = time.process_time()
    evil = "a" * 200_000 + "_"
    assert verdict(FEED.replace('name="clicks"', f'name="{evil}"').encode())
    tags = "a=b," * 50_000
    assert verdict(CLUSTER.replace("<interfaces>", f"<tags>{tags}</tags><interfaces>").encode())
    spaces = "a" + " a" * 50_000 + ",,"
    assert verdict(
        PROCESS.replace("<clusters>", f"<pipelines>{spaces}</pipelines><clusters>", 1).encode()
    )
    assert time.process_time() - started < 20
