"""Random histories of writes, late writes, failures and evictions: no data is ever lost."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.scheduler import entity_service
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from tests.pipeline.falcon.documents import FEED
from tests.pipeline.scheduler.actions.site import SOURCE, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, HOUR, START, schedule

CUTOFF = 4  # hours, of the feed
KEPT = 5  # hours, at the source


@dataclass(frozen=True)
class Round:
    """The events of one hour: writes, repeated writes of past hours, and failures."""

    written: bool
    late: int | None
    refusals: int


rounds = st.lists(
    st.builds(
        Round,
        written=st.booleans(),
        late=st.none() | st.integers(1, CUTOFF - 1),
        refusals=st.sampled_from([0, 0, 0, 2, 40]),
    ),
    min_size=3,
    max_size=9,
)


def name(hour: int) -> str:
    return f"ds={START + hour * HOUR:%Y-%m-%d-%H}/region=us"


@pytest.mark.slow
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=rounds)
def test_every_row_is_at_the_target_in_the_end(
    history: list[Round],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    feed = FEED.replace('limit="days(2)"', f'limit="hours({KEPT})"').replace(
        '<sla slaLow="hours(2)" slaHigh="hours(3)"/>', ""
    )
    path: Path = tmp_path_factory.mktemp("history")
    monkeypatch.setattr("tests.pipeline.scheduler.actions.site.FEED", feed)
    site = Site(path, monkeypatch)
    schedule(site.store, FEED_KEY)
    truth: dict[int, dict[str, bytes]] = {}
    for hour, step in enumerate(history):
        if step.written:
            site.add(hour, first=f"of {hour}")
            truth[hour] = {"first": f"of {hour}".encode()}
        past = hour - step.late if step.late else None
        if past in truth and name(past) in site.source.parts[SOURCE]:
            body = f"added at {hour}".encode()
            site.files.write(f"file:///src/{name(past)}/late{hour}", body)
            truth[past][f"late{hour}"] = body
        repair(site, hour)
        site.target.refusals = step.refusals
        site.run(hour)
        site.target.refusals = 0
        assert_nothing_is_lost(site, truth)
    for hour in range(len(history), len(history) + CUTOFF + 2):
        repair(site, hour)
        site.run(hour)
        assert_nothing_is_lost(site, truth)
    found = {key: files for key, files in site.replicas().items() if files}
    assert found == {name(hour): files for hour, files in truth.items()}


def repair(site: Site, hour: int) -> None:
    """Reruns failed instances, because a FAILED replication keeps nothing from eviction."""
    failed = site.store.instances(FEED_KEY, states=[InstanceState.FAILED])
    entity_service.change_instances(
        site.store, failed, InstanceEvent.RERUN, START + hour * HOUR, "ann"
    )


def assert_nothing_is_lost(site: Site, truth: dict[int, dict[str, bytes]]) -> None:
    """Checks that all written data is at the source or the target, and that readers see no part of
    an instance."""
    replicas = site.replicas()
    for hour, files in truth.items():
        at_source = site.files.read(f"file:///src/{name(hour)}")
        kept = name(hour) in site.source.parts[SOURCE] and at_source == files
        assert kept or replicas.get(name(hour)) == files, f"hour {hour} is nowhere whole"
