"""How values are written: numbers, sizes, times, lists, choices and files."""

from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from conf import kinds
from conf.kinds import SettingKind


class Colour(Enum):
    RED = "red"
    BLUE = "Blue"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.PORT, "65535", 65535),
        (kinds.FLAG, "TRUE", True),
        (kinds.COUNT, "0", 0),
        (kinds.POSITIVE, "1", 1),
        (kinds.SIZE, "2K", 2048),
        (kinds.SIZE, "3g", 3 << 30),
        (kinds.SIZE, "1.5g", 3 << 29),
        (kinds.SIZE, "20TB", 20 << 40),
        (kinds.DURATION, "20", 20.0),
        (kinds.DURATION, "1.5 h", 5400.0),
        (kinds.DURATION_OR_NEVER, "0", 0.0),
        (kinds.HIVE_DURATION, "1500", 1.5),
        (kinds.HIVE_DURATION, "-1d", -86_400.0),
        (kinds.LIST, "a, b,,", ("a", "b")),
        (kinds.LOWER_SET, "A,b", {"a", "b"}),
        (kinds.choice(Colour), "BLUE", Colour.BLUE),
    ],
)
def test_values(kind: SettingKind[Any], text: str, value: object) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (kinds.PORT, "0", "not a port: '0'"),
        (kinds.FLAG, "yes", "neither true nor false: 'yes'"),
        (kinds.COUNT, "1.5", "not a number: '1.5'"),
        (kinds.POSITIVE, "0", "not a number above 0: '0'"),
        (kinds.SIZE, "1x", "not a size such as"),
        (kinds.DURATION, "0s", "not a time such as 20, 20s or 500ms"),
        (kinds.DURATION, "7d", "not a time such as 20, 20s or 500ms"),
        (kinds.HIVE_DURATION, "5 parsecs", "not a time such as 3600000, 30min or 7d"),
        (kinds.choice(Colour), "green", "'green' is not one of red, Blue"),
        (kinds.ENDPOINTS, "a:1,b", "not host:port: 'b'"),
        (kinds.FILE, "/no/such", "no such file: /no/such"),
    ],
)
def test_wrong_values(kind: SettingKind[Any], text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        kind.parse(text)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    assert kinds.FILE.parse(str(tmp_path / "x")) == tmp_path / "x"
    assert kinds.SECRET_FILE.parse(str(tmp_path / "x")).path == tmp_path / "x"
