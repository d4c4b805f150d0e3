"""Feeds of whole tables between clusters with Iceberg or Delta, by the command line."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from bench.copies.lifecycle_demo import EXAMPLES
from cli.lifecycle.lifecycle_port import LifecyclePort, LifecycleServer
from cli.main import main
from cli.stack.stack import Stack
from conf.names import ClusterName
from conf.settings.lifecycle import Lifecycle
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from pipeline.falcon.calendar import parse_time
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.operations import Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.e2e.conftest import C1
from tests.pipeline.scheduler.fake_actions import FakeActions
from tests.secret_files import private, readable

FEED = """<?xml version="1.0"?>
<feed name="{name}" xmlns="uri:falcon:feed:0.1">
  <frequency>hours(1)</frequency>
  <clusters>
    <cluster name="{source}" type="source">
      <validity start="2024-01-01T00:00Z" end="2024-02-01T00:00Z"/>{retention}
    </cluster>
    <cluster name="{target}" type="target">
      <validity start="2024-01-01T00:00Z" end="2024-02-01T00:00Z"/>{retention}{other}
    </cluster>
  </clusters>
  <table uri="{uri}"/>
  <ACL owner="x"/>
  <schema location="" provider="hcatalog"/>
  {properties}
</feed>
"""
KEPT = '<retention limit="days(2)" action="delete"/>'


@dataclass(frozen=True, slots=True)
class LakeFeeds:
    """Feeds of a stack's tables, with a store of their own in `folder`."""

    stack: Stack
    folder: Path

    @property
    def _store(self) -> list[str]:
        return ["--store", str(self.folder / "l.db")]

    def submit_clusters(self) -> None:
        for cluster in self.stack.spec.clusters:
            values = {
                "name": cluster,
                "colo": cluster,
                "filesystem": self.stack.layout.filesystem(cluster),
                "hiveserver": str(self.stack.ports.hs2[cluster]),
                "metastore": f"thrift://{self.stack.ports.metastore}",
            }
            sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
            submit = ["entity", "submit", str(EXAMPLES / "cluster.xml"), *sets]
            assert main([*submit, *self._store]) == 0

    def submit(
        self,
        name: str,
        source: ClusterName,
        target: ClusterName,
        uri: str,
        *,
        retention: str = "",
        other: str = "",
        properties: str = "",
    ) -> int:
        """Submits a feed. Returns the exit status. `other` is the target's table, if it differs."""
        document = self.folder / f"{name}.xml"
        document.write_text(
            FEED.format(
                name=name, source=source, target=target, uri=uri, retention=retention,
                other=other, properties=properties,
            )
        )  # fmt: skip
        return main(["entity", "submit", str(document), *self._store])

    def schedule(self, name: str, at: str) -> None:
        assert main(["entity", "schedule", "feed", name, "--at", at, *self._store]) == 0

    def serve(self, at: str) -> None:
        """Runs the instances that are due at that time."""
        serve = ["lifecycle", "serve", "--once", "--default-cluster", C1, "--master", "local[2]"]
        serve += ["--conf", str(self.stack.layout.settings)]  # to notify the views of copies
        assert main([*serve, "--at", at, *self._store]) == 0

    def states(self, name: str) -> dict[str, str]:
        """The state of each instance by its hour."""
        found = self._open_store().instances(EntityKey(Kind.FEED, name))
        return {f"{each.nominal:%H:%M}": each.state.value for each in found}

    def lag(self, at: str) -> dict[str, float]:
        """The seconds of lag by table in the reply to /v1/lag at that time."""
        store, clock = self._open_store(), SetClock(parse_time(at))
        token = readable(private(self.folder / "token", "secret\n"))
        settings = Lifecycle(port=Endpoint("127.0.0.1", 0), token=token)
        with SchedulerServer(store, FakeActions(), clock, "one", SchedulerOptions()) as scheduler:
            operations = Operations(store, scheduler, clock, "x", lambda _: None)
            server = LifecycleServer(operations, lambda *_: None, Transports(), None)
            with LifecyclePort(server, settings, OperatorAccess()) as port:
                url = f"http://{port.listening}/v1/lag"
                request = Request(url, headers={"Authorization": "Bearer secret"})
                with urlopen(request, timeout=30) as response:
                    found: list[dict[str, Any]] = json.load(response)
        return {each["table"]: each["seconds"] for each in found}

    def _open_store(self) -> Store:
        return Store(str(self.folder / "l.db"))
