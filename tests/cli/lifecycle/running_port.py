"""A lifecycle server with a process whose first instance has run, and its port."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.lifecycle.lifecycle_port import LifecyclePort, LifecycleServer
from cli.lifecycle.work_observer import WorkObserver
from conf.settings.lifecycle import Lifecycle
from conf.settings.operating import Operating
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.settings.settings import Settings
from conf.topology import Endpoint
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.operations import Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import (
    FIRST,
    PROCESS_KEY,
    FakeActions,
    schedule,
    store_with_entities,
)
from tests.secret_files import private, readable

Port = tuple[str, list[tuple[str, str, bool]]]


@contextmanager
def running_port(tmp_path: Path) -> Iterator[Port]:
    """The address, and the requests that were observed: method, path, refused."""
    history = Operating(history_store=str(tmp_path / "history.db"))
    observer = WorkObserver(Settings(operating=history), "one")
    store_with_entities(tmp_path / "l.db")
    store = Store(str(tmp_path / "l.db"), observer.changed)
    schedule(store, PROCESS_KEY, FIRST)
    clock, observed = SetClock(FIRST), list[tuple[str, str, bool]]()
    settings = Lifecycle(
        port=Endpoint("127.0.0.1", 0), token=readable(private(tmp_path / "token", "secret\n"))
    )
    with (
        observer,
        SchedulerServer(store, FakeActions(), clock, "one", SchedulerOptions()) as scheduler,
    ):
        scheduler.until_idle(30)
        while observer.queues["history"].waiting:
            time.sleep(0.01)
        server = LifecycleServer(
            Operations(store, scheduler, clock, "ann", lambda _: None, observer.queues),
            lambda method, path, caller, refused: observed.append((method, path, refused)),
            Transports(),
            observer.history,
        )
        with LifecyclePort(server, settings, OperatorAccess()) as listening:
            yield f"http://{listening.listening}", observed
