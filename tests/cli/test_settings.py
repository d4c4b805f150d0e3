"""`causeway settings` lists settings and prints the schema."""

import json

import pytest

from cli.main import main
from conf.settings.catalog import NAMES, json_schema


def test_the_list_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    printed = capsys.readouterr().out
    assert [name for name in NAMES if f"{name} = " not in printed] == []


def test_a_part_of_a_name_selects(capsys: pytest.CaptureFixture[str]) -> None:
    main(["settings", "drain"])
    assert capsys.readouterr().out.startswith("proxy.drain.timeout = 30s  [SIGHUP]\n")


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["settings", "--json-schema"])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(json_schema()))
