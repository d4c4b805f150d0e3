"""The answers of several processes are merged."""

from typing import Any

import pytest

from proxy.administration.operator_requests import StandingRequests, merged


def endpoint(name: str, up: bool | None, connections: int, drained: bool = False) -> dict[str, Any]:
    result = {"endpoint": name, "up": up, "connections": connections}
    return {**result, "sessions": 1, "drained": drained, "checked": None}


@pytest.mark.parametrize(
    ("action", "answers", "expected"),
    [
        ("sessions", [[1], [2, 3]], [1, 2, 3]),
        ("statements", [["x"]], ["x"]),
        ("cache", [{"tables": 2}, {"tables": 3}], {"tables": 5}),
        ("kill-session", [{"killed": 0}, {"killed": 1}], {"killed": 1}),
        ("health", [{"status": "ok"}, {"status": "stopping"}], {"status": "stopping"}),
        ("reload", [{"changed": ["a"]}, {"changed": ["a"]}], {"changed": ["a"]}),
        ("admission", [{"blocked": ["a"]}, {"blocked": ["a"]}], {"blocked": ["a"]}),
        ("block", [{"closed": 1}, {"closed": 2}], {"closed": 3}),
        (
            "samples",
            [[("causeway_sessions", [], 1)], [("causeway_sessions", [], 2)]],
            [("causeway_sessions", (), 3)],
        ),
    ],
)
def test_answers_are_merged(action: str, answers: list[Any], expected: object) -> None:
    assert merged(action, answers) == expected


def test_a_worker_that_starts_receives_the_standing_requests() -> None:
    standing = StandingRequests()
    for action, argument in (
        ("drain", "east"),
        ("drain", "west"),
        ("resume", "east"),
        ("kill-session", "x"),
        ("block", "Ann"),
        ("block", "bob"),
        ("unblock", "ann"),
        ("maintenance", "one"),
        ("maintenance", "two"),
    ):
        standing.note(action, argument)
    assert standing.requests() == (("drain", "west"), ("block", "bob"), ("maintenance", "two"))
    standing.note("end-maintenance", "-")
    assert standing.requests() == (("drain", "west"), ("block", "bob"))


def test_clusters_are_merged_by_name() -> None:
    one = [{"name": "east", "drained": False, "endpoints": [endpoint("a:1", None, 2)]}]
    two = [{"name": "east", "drained": True, "endpoints": [endpoint("a:1", True, 3, True)]}]
    (east,) = merged("clusters", [one, two])
    assert east["drained"]
    assert east["endpoints"] == [{**endpoint("a:1", True, 5, True), "sessions": 2}]


@pytest.mark.parametrize(
    ("answers", "checked"),
    [((None, None), None), ((True, None), True), ((None, False), False), ((True, False), False)],
)
def test_claims_count_as_unchecked_if_one_process_finds_so(
    answers: tuple[bool | None, ...], checked: bool | None
) -> None:
    result = [
        [
            {
                "name": "east",
                "drained": False,
                "endpoints": [{**endpoint("a:1", True, 1), "checked": each}],
            }
        ]
        for each in answers
    ]
    (east,) = merged("clusters", result)
    assert east["endpoints"][0]["checked"] is checked
