"""The dashboards and alert rules of docs/examples/monitoring use metrics that there are."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from pipeline.scheduler import operations
from proxy.errors import InternalError
from proxy.operations.metrics import FAMILIES, Metrics, text
from tests.docs.pages import ROOT

HERE = ROOT / "docs" / "examples" / "monitoring"
GUIDE = (ROOT / "docs" / "guide" / "monitor.md").read_text()
RULES = (HERE / "alerts.yml").read_text()
DASHBOARDS = sorted(HERE.glob("*.json"))
LABELS = {name: set(family.labels) for name, family in FAMILIES.items()} | {
    name: set(labels) for name, (_, labels, _) in operations.FAMILIES.items()
}
OF_ALL = {"instance", "job", "le"}


def _expressions() -> Iterator[tuple[str, str]]:
    """Each expression with its rule's or panel's text, which names labels too."""
    for rule in RULES.split("- alert: ")[1:]:
        yield rule.partition("labels:")[0], rule
    for dashboard in DASHBOARDS:
        for panel in json.loads(dashboard.read_text())["panels"]:
            for target in panel["targets"]:
                yield target["expr"], target["legendFormat"]


@pytest.mark.parametrize(("expression", "texts"), list(_expressions()))
def test_every_metric_and_label_of_an_expression_exists(expression: str, texts: str) -> None:
    names = {
        re.sub(r"_(bucket|sum|count)$", "", each)
        for each in re.findall(r"\bcauseway_\w+", expression)
    }
    assert names <= set(LABELS)
    known = OF_ALL.union(*(LABELS[name] for name in names))
    matched = re.findall(r"(\w+)\s*(?:=~?|!=|!~)\s*\"", expression)
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    shown = re.findall(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}", texts)
    used = {*matched, *shown, *re.findall(r"\w+", " ".join(grouped))}
    assert used <= known, used - known


def test_every_metric_is_on_a_dashboard() -> None:
    shown = " ".join(expression for expression, _ in _expressions())
    assert [name for name in LABELS if name not in shown] == []


def test_every_alert_is_explained() -> None:
    alerts = re.findall(r"- alert: (\w+)", RULES)
    assert len(alerts) == len(set(alerts)) > 10
    assert re.findall(r"^\| `(\w+)` \|", GUIDE, re.M) == alerts


def test_a_code_begins_with_0_so_that_its_first_error_is_an_increase() -> None:
    metrics = Metrics()
    metrics.count("causeway_errors_total", InternalError.code)
    lines = text(metrics.samples()).splitlines()
    codes = re.findall(r'^causeway_errors_total\{code="(\w+)"\} 0\.0$', "\n".join(lines), re.M)
    assert {"CW104", "CW226", "CW361"} <= set(codes)
    assert InternalError.code not in codes
    assert f'causeway_errors_total{{code="{InternalError.code}"}} 1.0' in lines


@pytest.mark.parametrize("command", ["check rules alerts.yml", "test rules alerts_test.yml"])
def test_prometheus_accepts_the_rules_and_they_fire(command: str) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("Prometheus's promtool is not on PATH")
    done = subprocess.run(["promtool", *command.split()], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_the_metrics() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("Prometheus's promtool is not on PATH")
    page = text(Metrics().samples())
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
