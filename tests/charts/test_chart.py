"""The Helm chart renders what `golden` has, and refuses values that would not work."""

import json
import os
import re

import pytest
import yaml

from conf.settings.catalog import NAMES
from tests.charts.rendering import CHART, GOLDEN, VALUES, digest, golden, headed, helm, rendered
from tests.charts.values_schema import PASSWORDS

WRITE = os.environ.get("CAUSEWAY_GOLDEN") == "write"
TEMPLATES = "\n".join(path.read_text() for path in CHART.glob("templates/*"))


def test_the_templates_name_settings_that_there_are() -> None:
    named = set(re.findall(r'"([a-z]+\.[\w.]*\w)"', TEMPLATES)) - {"causeway.tpl"}
    named = {each for each in named if not each.startswith("causeway.")}
    assert {"proxy.drain.timeout", "console.proxies", "lifecycle.host"} <= named
    assert named - set(NAMES) == set()


@pytest.mark.parametrize("values", VALUES)
def test_the_rendering_is_that_of_the_chart(values: str) -> None:
    """Without Helm the digest alone is compared."""
    assert digest(values) in golden(values).partition("\n")[0] or WRITE, "run `make chart`"
    text = headed(values, rendered(values))
    if WRITE:
        (GOLDEN / f"{values}.yaml").write_text(text)
    assert golden(values) == text, "run `make chart` and read the difference"


@pytest.mark.parametrize("values", VALUES)
def test_helm_finds_nothing_wrong(values: str) -> None:
    path = str(CHART / "ci" / f"{values}.yaml")
    out = helm("lint", "--strict", str(CHART), "--values", path)
    assert "0 chart(s) failed" in out
    assert "[WARNING]" not in out


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("settings.router\\.chioce=cost", "router.chioce"),
        ("settings.router\\.choice=cheap", "router.choice must be one of"),
        ("proxy.replicsa=3", "replicsa is not allowed"),
        ("settings.hive\\.server2\\.keystore\\.password=x", "keystore.password is not allowed"),
        ("settings.history\\.store=postgresql://u:p@h/d", "history.store has a password"),
        ("settings.history\\.store=history.db", "one pod's alone"),
        ("settings.proxy\\.admin\\.token\\.file=", "proxy.admin.token.file is missing"),
        ("settings.hive\\.server2\\.support\\.dynamic\\.service\\.discovery=true", "the Service"),
        ("lifecycle.store.secret=", "lifecycle.store.secret is missing"),
        ("settings.lifecycle\\.token\\.file=", "lifecycle.token.file is missing"),
    ],
)
def test_values_that_would_not_work_are_refused(setting: str, why: str) -> None:
    assert why in " ".join(rendered("full", "--set", setting, fails=True).split())


def test_names_of_passwords_are_settings() -> None:
    assert set(NAMES) >= PASSWORDS


def test_dashboards_and_alert_rules_are_those_of_the_documentation() -> None:
    """They are not in `golden`: they change more often than the chart."""
    monitoring = CHART / "monitoring"
    assert monitoring.resolve() == CHART.parents[1] / "docs" / "examples" / "monitoring"
    more = ("--set", "monitoring.rules.enabled=true,monitoring.dashboards.enabled=true")
    found = {
        (each["kind"], each["metadata"]["name"]): each
        for each in yaml.safe_load_all(rendered("minimal", *more))
    }
    rules = yaml.safe_load((monitoring / "alerts.yml").read_text())
    assert found["PrometheusRule", "try-causeway"]["spec"] == rules
    boards = found["ConfigMap", "try-causeway-dashboards"]["data"]
    assert {name: json.loads(text) for name, text in boards.items()} == {
        path.name: json.loads(path.read_text()) for path in monitoring.glob("dashboard-*.json")
    }


@pytest.mark.parametrize(
    ("text", "seconds"), [("45", 45), ("45s", 45), ("1500ms", 2), ("2m", 120), ("1h", 3600)]
)
def test_pods_have_time_to_drain(text: str, seconds: int) -> None:
    only = ("--show-only", "templates/proxy.yaml")
    out = rendered("minimal", *only, "--set-string", f"settings.proxy\\.drain\\.timeout={text}")
    (proxy,) = (each for each in yaml.safe_load_all(out) if each["kind"] == "StatefulSet")
    assert proxy["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 10 + seconds + 15
