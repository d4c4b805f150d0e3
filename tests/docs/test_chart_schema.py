"""The values of the Helm chart may have every setting."""

import json
import os

from tests.charts.rendering import SCHEMA
from tests.charts.values_schema import schema


def test_values_may_have_every_setting_and_no_other() -> None:
    text = json.dumps(schema(), indent=1) + "\n"
    if os.environ.get("CAUSEWAY_GOLDEN") == "write":
        SCHEMA.write_text(text)
    assert SCHEMA.read_text() == text, "run `make golden` and read the difference"
