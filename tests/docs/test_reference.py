"""docs/reference/{sql,rest,metrics,glossary}.md say what the code has."""

import os
import re
from typing import get_args

from conf.topology import Topology
from database.history import search
from database.history.questions import QUESTIONS
from database.history.work import CopyRecord, InstanceRecord, copy_document, instance_document
from dialect.grammar.cluster_statements import ClusterCommand, parse
from metastore.snapshot.snapshot import Snapshot
from proxy.administration.admin_server import HISTORY, ROUTES
from proxy.operations.history.row import row_of
from proxy.operations.metrics import FAMILIES
from proxy.record.record import Record
from proxy.session.session import SessionState
from proxy.statement.machine import cluster_commands as commands
from router.report import DecisionReport
from tests.docs.pages import ROOT
from tests.proxy.running import Site, play

REFERENCE = ROOT / "docs" / "reference"
SQL, REST, METRICS, GLOSSARY = (
    (REFERENCE / f"{name}.md").read_text() for name in ("sql", "rest", "metrics", "glossary")
)
HEAD = ("| name | type | labels | meaning |", "|---|---|---|---|")


def _section(page: str, title: str) -> str:
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _first_cells(text: str) -> list[str]:
    """The names in backquotes in the first cells of a text's tables."""
    cells = re.findall(r"^\| (.*?) \|", text, re.M)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_every_statement_of_the_page_is_of_the_grammar() -> None:
    kinds = set()
    for text in _first_cells(SQL.partition("## Results")[0]):
        command = parse(text, True)
        assert command is not None, text
        kinds.add(type(command))
    assert kinds == set(get_args(ClusterCommand))


def test_the_page_has_the_columns_of_results() -> None:
    session = SessionState.opened("ann", 1, {}, Topology({}, None))
    results = _section(SQL, "Results")
    clusters, _, others = results.partition("`SHOW STATEMENTS`:")
    statements, _, explained = others.partition("`EXPLAIN CLUSTER`:")
    explained, _, extended = explained.partition("`EXPLAIN CLUSTER EXTENDED`:")
    extended, _, copies = extended.partition("`SHOW COPIES`:")
    assert tuple(_first_cells(clusters)) == commands.show_clusters(session).columns
    assert commands.show_current_cluster(session).columns == ("cluster",)
    assert sorted(_first_cells(statements)) == sorted(commands.show_statements(()).columns)
    report = commands.explain(DecisionReport("run", "east", "inputs", "because"))
    assert tuple(_first_cells(explained)) == report.columns
    assert tuple(_first_cells(extended)) == commands.explain_extended(()).columns
    assert tuple(_first_cells(copies)) == commands.show_copies((), partitions=False, now=0).columns


def test_the_page_has_every_route() -> None:
    assert sorted(_first_cells(REST.partition("## Sessions")[0])) == sorted(ROUTES)


def test_the_page_has_the_fields_of_answers() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        await client.operation("SELECT 'x'")
        (session,) = site.admin.sessions()
        assert _first_cells(_section(REST, "Sessions")) == list(session)
        (statement,) = site.admin.statements()
        listed = _section(REST, "Statements").partition("`text` is")[0]
        assert re.findall(r"`(\w+)`", listed) == list(statement)
        cluster = site.admin.clusters()[0]
        fields = _first_cells(_section(REST, "Clusters"))
        assert fields == [*cluster, *cluster["endpoints"][0]]
        assert _first_cells(_section(REST, "Cache")) == list(Snapshot().counts())

    play(scenario)


def test_the_page_has_the_parameters_and_fields_of_the_history() -> None:
    parameters, _, fields = _section(REST, "History").partition("| field | |")
    assert sorted(_first_cells(parameters)) == sorted(search.PARAMETERS)
    document = search.statement_document(row_of(Record(), (), ""))
    listed = _section(REST, "Statements").partition("`text` is")[0]
    of_the_audit_log = set(re.findall(r"`(\w+)`", listed)) - {"event"}
    assert of_the_audit_log | set(_first_cells(fields)) == set(document)


def test_the_page_has_the_fields_of_work_in_the_history() -> None:
    copy, instance = (
        CopyRecord(*"abcdefg", 1.0, 2.0),
        InstanceRecord(*"abcdef", 1.0, 0, 1, "", None, 2.0),
    )
    for title, document in (
        ("Copies that ended", copy_document(copy.row())),
        ("Instances that ended", instance_document(instance.row())),
    ):
        assert set(_first_cells(_section(REST, title))) == set(document)
    assert set(HISTORY.values()) == set(QUESTIONS)


def test_the_page_has_every_metric() -> None:
    rows = [
        f"| `{name}` | {family.kind} | {', '.join(f'`{each}`' for each in family.labels)} |"
        f" {family.help} |"
        for name, family in FAMILIES.items()
    ]
    page = re.sub(
        r"(<!-- metrics -->\n).*?(<!-- end -->)",
        lambda match: "\n".join((match[1].strip(), "", *HEAD, *rows, "", match[2])),
        METRICS,
        flags=re.S,
    )
    path = REFERENCE / "metrics.md"
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        path.write_text(page)
    assert path.read_text() == page, "run `make golden` and read the difference"


def test_expressions_of_the_page_name_metrics_that_exist() -> None:
    names = set(re.findall(r"\bcauseway_\w+", METRICS))
    assert {each.removesuffix("_bucket") for each in names} <= set(FAMILIES)


def test_the_glossary_is_sorted_and_names_files_that_exist() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (.*) \|$", GLOSSARY, re.M)[1:]
    words = [word for word, _ in rows]
    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    named = [path for _, place in rows for path in re.findall(r"`([^`]+)`", place)]
    assert [path for path in named if not (ROOT / path).exists()] == []
