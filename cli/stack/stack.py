"""Starts and ends the embedded stack."""

import fcntl
import importlib.util
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from cli.stack.configuration import files
from cli.stack.errors import FolderInUse, PortTaken, ServiceDied, ServiceSilent
from cli.stack.java import find_java
from cli.stack.plan import (
    LIFECYCLE,
    PROXY,
    Ports,
    Service,
    StackLayout,
    StackSpec,
    console_service,
    lifecycle_service,
    metastore_service,
    proxy_service,
    thrift_server,
    view_service,
)
from cli.stack.process import Children
from cli.stack.supervision import Supervision
from conf.names import ClusterName
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar_or_none

_START_LIMIT = 240.0  # seconds; three JVMs on 2 busy cores need some 60
_STEP = 0.1  # seconds between attempts to connect
_PORTS = range(20_000, 32_768)  # below the range from which the kernel chooses ports

Progress = Callable[[str, float], None]


class Stack:
    """One metastore, one Thrift Server per cluster, their views, the proxy, the console and the
    lifecycle server.

    A context manager: entering starts all services and returns when all answer. It raises a
    StackError, with no process left running, if one does not. Leaving ends all services.
    """

    def __init__(self, spec: StackSpec, folder: Path, progress: Progress | None = None) -> None:
        self.spec = spec
        self.layout = StackLayout.at(folder)
        self.ports = _choose_ports(spec)
        self._progress = progress or (lambda name, seconds: None)
        self._services: dict[str, Service] = {}
        self._exits = ExitStack()
        self._children: Children

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self._prepare(exits)
            self._children = exits.enter_context(Children())
            exits.callback(self.layout.endpoints.unlink, missing_ok=True)
            self._start_all()
            _write(self.layout.endpoints, json.dumps(self.endpoints(), indent=2) + "\n")
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._children.stop(first=(LIFECYCLE, PROXY))
        self._exits.close()

    def endpoints(self) -> dict[str, object]:
        """The content of endpoints.json."""
        proxy = self.spec.proxy
        clusters = {name: self._cluster_endpoints(name) for name in self.spec.clusters}
        return {
            "proxy": {"host": proxy.host, "port": proxy.port} if proxy else None,
            "metastore": {"uri": f"thrift://{self.ports.metastore}"},
            "clusters": clusters,
            "admin": self._administration(self.ports.admin),
            "lifecycle": self._lifecycle(),
        }

    def supervised(self) -> Supervision:
        """The supervision that restarts services which end from now on. Call its `step`
        repeatedly."""
        return Supervision(self._children, self._services, answers, _START_LIMIT)

    def is_running(self, service: str) -> bool:
        return self._children.exit_status(service) is None

    def pid(self, service: str) -> int:
        return self._children.pid(service)

    def restart(self, name: str) -> None:
        """Ends the service if it runs, starts it at the same address and waits until it answers."""
        self._children.stop_one(name)
        self._children.start(self._services[name])
        self._wait(self._services[name], time.monotonic())

    def _cluster_endpoints(self, name: ClusterName) -> dict[str, str]:
        found = {"hs2": str(self.ports.hs2[name]), "filesystem": self.layout.filesystem(name)}
        if self.spec.views:
            found["metastore"] = f"thrift://{self.ports.views[name]}"
        return found

    def _administration(self, where: Endpoint | None) -> dict[str, object] | None:
        if where is None:
            return None
        token = str(self.layout.admin_token)
        return {"host": where.host, "port": where.port, "token_file": token}

    def _lifecycle(self) -> dict[str, object] | None:
        found = self._administration(self.ports.lifecycle)
        return found and {**found, "store": str(self.layout.lifecycle_store)}

    def _prepare(self, exits: ExitStack) -> None:
        if self.spec.proxy:
            _check_free(self.spec.proxy)
        self.layout.root.mkdir(parents=True, exist_ok=True)
        exits.callback(os.close, _lock(self.layout.root))
        self.layout.endpoints.unlink(missing_ok=True)
        for cluster in self.spec.clusters:
            self.layout.warehouse(cluster).mkdir(parents=True, exist_ok=True)
            (self.layout.scratch(cluster) / "hive-local").mkdir(parents=True, exist_ok=True)
        _write_secret(self.layout.admin_token)
        for path, text in files(self.spec, self.layout, self.ports).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, text)

    def _start_all(self) -> None:
        began = time.monotonic()
        services = self._plan()
        for service in services:
            self._services[service.name] = service
            self._children.start(service)
        with ThreadPoolExecutor(len(services)) as pool:
            waits = {pool.submit(self._wait, each, began): each.name for each in services}
            try:
                for done in as_completed(waits):
                    done.result()
                    self._progress(waits[done], time.monotonic() - began)
            except BaseException:
                # Ending the services ends the other waits.
                self._children.stop()
                raise

    def _plan(self) -> list[Service]:
        java, spark = find_java(), spark_home()
        jar = guard_jar_or_none()
        services = [metastore_service(java, spark, jar, self.layout, self.ports)]
        if self.spec.views:
            services.append(view_service(self.layout, self.ports))
        for cluster in self.spec.clusters:
            services.append(thrift_server(cluster, java, spark, self.spec, self.layout, self.ports))
        if self.spec.proxy:
            services.append(proxy_service(self.spec.proxy, self.layout))
        if self.spec.console:
            services.append(console_service(self.spec.console, self.layout))
        if self.ports.lifecycle:
            services.append(lifecycle_service(self.ports.lifecycle, self.layout))
        return services

    def _wait(self, service: Service, began: float) -> None:
        for endpoint in service.listens:
            while not answers(endpoint):
                self._check_one(service)
                if time.monotonic() - began > _START_LIMIT:
                    raise ServiceSilent(
                        f"{service.name} did not answer at {endpoint} within"
                        f" {_START_LIMIT:.0f} s; see {service.log}"
                    )
                time.sleep(_STEP)

    def _check_one(self, service: Service) -> None:
        status = self._children.exit_status(service.name)
        if status is not None:
            raise ServiceDied(f"{service.name} ended with status {status}; see {service.log}")


def _choose_ports(spec: StackSpec) -> Ports:
    count = len(spec.clusters)
    metastore, admin, lifecycle, *free = free_ports(3 + 2 * count)
    return Ports(
        metastore=metastore,
        hs2=dict(zip(spec.clusters, free[:count], strict=True)),
        views=dict(zip(spec.clusters, free[count:], strict=True)),
        admin=admin if spec.proxy else None,
        lifecycle=lifecycle if spec.proxy and spec.lifecycle else None,
    )


def free_or_any(wanted: Endpoint) -> Endpoint:
    """The address `wanted` if it is free, else one with a free port."""
    try:
        _check_free(wanted)
    except PortTaken:
        return free_ports(1)[0]
    return wanted


def free_ports(count: int) -> list[Endpoint]:
    """Addresses of this machine with free ports. The ports are below the kernel's own range, so no
    connection takes one before its service listens."""
    free: list[Endpoint] = []
    with ExitStack() as exits:
        for port in secrets.SystemRandom().sample(_PORTS, len(_PORTS)):
            if len(free) == count:
                break
            probe = exits.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                free.append(Endpoint("127.0.0.1", port))
    return free


def _check_free(listen: Endpoint) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen.host, listen.port))
        except OSError as error:
            raise PortTaken(f"cannot listen on {listen}: {error.strerror}.") from error


def _lock(folder: Path) -> int:
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise FolderInUse(f"another `causeway up` runs in {folder}.") from error
    return descriptor


def answers(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), timeout=1.0).close()
    except OSError:
        return False
    return True


def spark_home() -> Path:
    """The folder of pyspark, which contains Spark, Hive's metastore and beeline."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None  # a pinned requirement of this package
    assert found.origin is not None
    return Path(found.origin).parent


def _write_secret(path: Path) -> None:
    """Writes a random token to a new file that only this user can read."""
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as stream:
        stream.write(secrets.token_urlsafe(32) + "\n")


def _write(path: Path, text: str) -> None:
    """Writes the file atomically."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    beside.replace(path)
