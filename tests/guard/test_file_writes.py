"""The agent's reports of files that no plan names, as two fake views receive them."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from cli.stack.stack import free_ports
from tests.guard.programs import program
from tests.metastore.fake import FakeMetastore
from thriftcodec.values import Struct

pytestmark = pytest.mark.slow
MAX_FOLDERS = 500  # folders that one process reports at a time


class FakeView(FakeMetastore):
    """Records the reports: a write's id, its paths, whether it has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.reports: list[tuple[str, tuple[str, ...], bool]] = []
        self.running: set[str] = set()
        self.max_running = 0

    def _causeway_write(self, arguments: Struct) -> None:
        write_id, ended = str(arguments.get(6)), bool(arguments.get(7))
        self.reports.append((write_id, tuple(arguments.get(4)), ended))
        (self.running.discard if ended else self.running.add)(write_id)
        self.max_running = max(self.max_running, len(self.running))


@pytest.fixture
def two_views() -> Iterator[tuple[FakeView, FakeView]]:
    one, other = FakeView(), FakeView()
    yield one, other
    one.stop()
    other.stop()


def wait_for_ends(views: tuple[FakeView, FakeView]) -> None:
    end = monotonic() + 60
    while any(each.running for each in views) and monotonic() < end:
        sleep(0.1)


def distinct(view: FakeView) -> list[tuple[str, tuple[str, ...], bool]]:
    """Returns the reports without repetitions: the agent reports a beginning every 20 seconds."""
    return list(dict.fromkeys(view.reports))


def test_each_view_gets_one_report_of_a_folder_and_one_of_its_end(
    two_views: tuple[FakeView, FakeView], tmp_path: Path, jar: Path
) -> None:
    ports = [view.endpoint.port for view in two_views]
    with program(tmp_path, jar, *ports, free_ports(1)[0].port) as run:  # no view has the last port
        for name in "abc":
            assert run("create", f"{tmp_path}/t/{name}") == ""
        for view in two_views:
            ((write_id, paths, ended),) = distinct(view)
            assert (paths, ended) == ((f"file:{tmp_path}/t/a",), False)
            assert write_id == two_views[0].reports[0][0]
        wait_for_ends(two_views)
        for view in two_views:
            assert [ended for _, _, ended in distinct(view)] == [False, True]
            view.reports.clear()
        assert run("frame", f"{tmp_path}/frame") == ""  # its command reports what its tasks write
        wait_for_ends(two_views)
        for view in two_views:
            assert [paths for _, paths, _ in distinct(view)] == [(f"file:{tmp_path}/frame",)] * 2
        assert run("many", f"{tmp_path}/parts", MAX_FOLDERS + 50) == ""
        assert 0 < two_views[0].max_running <= MAX_FOLDERS
        assert run("create", f"{tmp_path}/t/d") == ""
        two_views[0].stop()
        assert run("create", f"{tmp_path}/u/a") == ""
        two_views[1].stop()
        assert "CW354" in run("create", f"{tmp_path}/v/a")
        assert not (tmp_path / "v" / "a").exists()
