"""Results as a table, as JSON and as an exit status, without the passwords of messages."""

import pytest

from cli.check.report import (
    CheckFinding,
    Level,
    Result,
    document,
    error,
    exit_status,
    of_problem,
    ok,
    table,
    warning,
    without_secrets,
)
from conf.errors import Problem

FOUND = [
    Result("metastore ms1:9083", ok("Hive 3.0"), 0.25),
    Result("cluster c1 h:1", error("Connection refused"), 20.04),
    of_problem(Problem("snapshot.ttl", "not a time", "time (default: 60s)"), Level.WARNING),
]


def test_each_result_is_a_line_and_the_last_line_counts_them() -> None:
    assert table(FOUND) == [
        "STATUS   SECONDS  CHECK               FINDING",
        "ok       0.2      metastore ms1:9083  Hive 3.0",
        "error    20.0     cluster c1 h:1      Connection refused",
        "warning  -        snapshot.ttl        not a time; write: time (default: 60s)",
        "error: 1, warning: 1, ok: 1",
    ]


def test_json_has_the_same() -> None:
    assert document(FOUND[2:]) == {
        "checks": [
            {
                "status": "warning",
                "check": "snapshot.ttl",
                "finding": "not a time",
                "remedy": "time (default: 60s)",
                "seconds": None,
            }
        ],
        "ok": 0,
        "warning": 1,
        "error": 0,
    }


@pytest.mark.parametrize(
    ("findings", "status"),
    [([], 0), ([ok("")], 0), ([warning("")], 0), ([ok(""), error("")], 1)],
)
def test_only_errors_fail(findings: list[CheckFinding], status: int) -> None:
    assert exit_status([Result("x", each) for each in findings]) == status


def test_passwords_in_messages_are_masked() -> None:
    text = 'bad port in "postgresql://u:s3cret@h:1x/db"; and hunter2 alone'
    found = without_secrets(Result("history.store", error(text)), {"hunter2"}).finding.text
    assert found == 'bad port in "postgresql://u:***@h:1x/db"; and *** alone'
