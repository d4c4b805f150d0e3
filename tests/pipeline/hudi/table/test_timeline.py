"""Names on the timeline, in both layouts (HU-7)."""

import pytest

from pipeline.hudi.table.timeline import Instant, InstantState, parse_instant, parse_timeline


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("100.commit", ("100", "commit", InstantState.COMPLETED, "")),
        ("100.inflight", ("100", "commit", InstantState.INFLIGHT, "")),
        ("100.commit.requested", ("100", "commit", InstantState.REQUESTED, "")),
        ("100_105.deltacommit", ("100", "deltacommit", InstantState.COMPLETED, "105")),
        ("100.deltacommit.inflight", ("100", "deltacommit", InstantState.INFLIGHT, "")),
        ("100.compaction.requested", ("100", "compaction", InstantState.REQUESTED, "")),
        ("100_105.replacecommit", ("100", "replacecommit", InstantState.COMPLETED, "105")),
        ("100.clustering.inflight", ("100", "clustering", InstantState.INFLIGHT, "")),
    ],
)
def test_names(name, expected):
    assert parse_instant(name) == Instant(*expected, file=name)


@pytest.mark.parametrize(
    "name", ["hoodie.properties", ".100.commit.crc", "archived", "100.unknown"]
)
def test_other_names_are_skipped(name):
    assert parse_instant(name) is None


def test_the_most_advanced_file_tells_the_state():
    names = [
        "1.commit.requested", "1.inflight", "1_5.commit",
        "2.compaction.requested", "2.compaction.inflight", "2_3.commit",
        "3.clustering.requested", "3_4.replacecommit",
        "4.deltacommit.requested", "4.deltacommit.inflight",
    ]  # fmt: skip
    timeline = parse_timeline(names, layout=2)
    assert [i.requested for i in timeline.commits] == ["2", "3", "1"]
    assert timeline.first_pending_compaction is None
    assert [i.requested for i in timeline.running_writes] == ["4"]


def test_layout_1_goes_by_request_time():
    timeline = parse_timeline(["2.commit", "1.commit"], layout=1)
    assert [timeline.key(i) for i in timeline.commits] == ["1", "2"]


def test_only_complete_instants_are_committed_and_older_ones_are_archived():
    committed = parse_timeline(["5.commit", "6.inflight", "7.commit"], layout=1).committed()
    assert [i for i in ("4", "5", "6", "65", "7", "8") if i in committed] == ["4", "5", "7"]


def test_savepointed_commits_do_not_mark_the_start():
    timeline = parse_timeline(["1.commit", "1.savepoint", "5.commit"], layout=1)
    assert timeline.start == "5"


def test_files_of_completed_actions_hide_no_other_action():
    """Most files of a timeline are requests of completed actions, and are not parsed."""
    names = [
        "1.commit.requested", "1.inflight", "1.commit",
        "1.savepoint.inflight",
        "2.commit.requested", "2.inflight",
        "3.clean.requested", "3.clean.inflight", "3.clean",
    ]  # fmt: skip
    for order in (names, names[::-1]):
        timeline = parse_timeline(order, layout=1)
        found = [(i.requested, i.action, i.state.name) for i in timeline.instants]
        assert found == [
            ("1", "commit", "COMPLETED"),
            ("1", "savepoint", "INFLIGHT"),
            ("2", "commit", "INFLIGHT"),
            ("3", "clean", "COMPLETED"),
        ]
        assert timeline.start == "2"
