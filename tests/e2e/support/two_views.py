"""A stack with two processes of the metastore view, and load that goes on while one is killed."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

from cli.stack.plan import VIEW, Service
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from conf.topology import Endpoint

SECOND = "second view"


class TwoViews(Stack):
    """Each cluster's Spark and all settings have the addresses of both processes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        found = free_ports(len(self.spec.clusters))
        self.second: dict[ClusterName, Endpoint] = dict(zip(self.spec.clusters, found, strict=True))

    def view_addresses(self, cluster: ClusterName) -> str:
        return f"{self.ports.views[cluster]},{self.second[cluster]}"

    def _cluster_endpoints(self, name: ClusterName) -> dict[str, str]:
        found = super()._cluster_endpoints(name)
        return {**found, "metastore": f"{found['metastore']},thrift://{self.second[name]}"}

    def _prepare(self, exits: ExitStack) -> None:
        super()._prepare(exits)
        settings = self.layout.settings.read_text()
        for cluster in self.spec.clusters:
            first = str(self.ports.views[cluster])
            settings = settings.replace(f'"{first}"', f'"{self.view_addresses(cluster)}"')
            site = self.layout.conf(cluster) / "hive-site.xml"
            both = f"thrift://{first},thrift://{self.second[cluster]}"
            site.write_text(site.read_text().replace(f"thrift://{first}", both))
        self.layout.settings.write_text(settings)

    def _plan(self) -> list[Service]:
        services = super()._plan()
        view = next(each for each in services if each.name == VIEW)
        other = replace(
            view,
            name=SECOND,
            argv=(*view.argv, "--instance", "2", "--leftovers", str(self.layout.leftovers) + "2"),
            log=self.layout.log("second-view"),
            listens=tuple(self.second.values()),
        )
        return [*services, other]


@dataclass
class Load:
    """Acts that are repeated in threads of their own; each returns a fault, or None. `pause` is in
    seconds, after each act. `await_rounds` does not wait for acts in `rare`.
    """

    acts: dict[str, Callable[[], str | None]]
    pause: float = 0.3
    rare: frozenset[str] = frozenset()
    times: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(name, act)) for name, act in self.acts.items()
        ]

    def _run(self, name: str, act: Callable[[], str | None]) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                problem = act()
            except Exception as error:  # whatever a client may see
                problem = f"{error}"
            if problem is not None:
                self.wrong.append(f"{name}: {problem}")
            self.times.setdefault(name, []).append((began, time.monotonic() - began))
            self._stop.wait(self.pause)

    def await_rounds(self, rounds: int, limit: float) -> None:
        """Waits until each act has ended so often from now on."""
        before = {
            name: len(self.times.get(name, ())) for name in self.acts if name not in self.rare
        }
        end = time.monotonic() + limit
        while any(len(self.times.get(name, ())) < known + rounds for name, known in before.items()):
            assert time.monotonic() < end, (self.wrong, {n: len(t) for n, t in self.times.items()})
            time.sleep(0.05)

    def longest(self, name: str, since: float, until: float) -> float:
        """The longest time of an act that began or ran between two moments."""
        return max(
            (took for at, took in self.times[name] if at + took > since and at < until), default=0
        )

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for each in self._threads:
            each.join(120)
