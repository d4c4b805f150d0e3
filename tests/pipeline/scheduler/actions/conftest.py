"""The fixture of two clusters with a feed, for most tests."""

from pathlib import Path

import pytest

from tests.pipeline.scheduler.actions.site import Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, schedule


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path, monkeypatch)
    schedule(made.store, FEED_KEY)
    return made
