"""The values in docs/guide/kubernetes.md are those of the chart, and its table is right."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from conf.settings.catalog import NAMES
from tests.charts.rendering import CHART, named, pods, rendered
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "guide" / "kubernetes.md").read_text()
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
BLOCKS = [
    text
    for text in re.findall(r"^ *```yaml\n(.*?)^ *```", PAGE, re.M | re.S)
    if "custom:" not in text  # the values of another chart
]


def unknown(values: dict[str, Any], known: dict[str, Any], path: str = "") -> set[str]:
    found = set()
    for name, each in values.items():
        if name not in known:
            found.add(f"{path}{name}")
        elif isinstance(each, dict) and known[name]:
            found |= unknown(each, known[name], f"{path}{name}.")
    return found


@pytest.mark.parametrize("text", BLOCKS)
def test_values_exist(text: str, tmp_path: Path) -> None:
    values = yaml.safe_load(text)
    assert unknown(values, DEFAULTS) == set()
    assert set(values["settings"]) <= set(NAMES)
    path = tmp_path / "values.yaml"
    path.write_text(text)
    rendered("minimal", "--values", str(path))


def test_the_page_has_values() -> None:
    assert len(BLOCKS) == 2


def test_the_page_names_every_value_that_it_speaks_of() -> None:
    spans = re.findall(r"`((?:proxy|views|lifecycle|console|monitoring|networkPolicy)\.\w+)", PAGE)
    own = {each for each in spans if not any(name.startswith(each) for name in NAMES)}
    assert len(own) >= 5
    for each in own:
        part, _, name = each.partition(".")
        assert name in DEFAULTS[part], each


def test_what_runs_is_as_the_page_says() -> None:
    rows = re.findall(r"^\| (\w+)[^|]*\| (\w+) \|", PAGE, re.M)
    said = {name: kind for name, kind in rows if kind in ("StatefulSet", "Deployment")}
    for name in pods("full"):
        part = "view" if "-view-" in name else name.rpartition("-")[2]
        assert name in named("full", said[part]), name
