"""Runs checks concurrently, each with a time-out."""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

import uvloop

from cli.check import files, ports, services, stores, targets
from cli.check.checks import Check
from cli.check.report import CheckFinding, Result, error
from conf.errors import CausewayError

T = TypeVar("T")

_LOCAL: Mapping[type, Callable[[Any], CheckFinding]] = {
    targets.Secret: files.secret,
    targets.SettingsFile: files.settings_file,
    targets.Authorities: files.authorities,
    targets.ServerCertificate: files.certificate,
    targets.Written: files.written,
    targets.Authentication: files.authentication,
    targets.TelemetryLibraries: files.telemetry_libraries,
    targets.CatalogClass: files.catalog_class,
    targets.ProxyAddress: ports.port,
}
_REMOTE: Mapping[type, Callable[[Any, float], CheckFinding]] = {
    targets.Metastore: services.metastore,
    targets.View: services.view,
    targets.LdapServer: services.ldap_server,
    targets.TokenKeys: services.token_keys,
    targets.Issuer: services.issuer,
    targets.Quorum: services.quorum,
    targets.Listener: services.listener,
    targets.LifecycleAddress: ports.lifecycle_port,
    targets.ConsoleAddress: ports.console_port,
    targets.HistoryDatabase: stores.history,
    targets.LifecycleStore: stores.lifecycle_store,
}


def run_checks(checks: Sequence[Check], timeout: float) -> list[Result]:
    """The results in the order of the checks; each takes `timeout` seconds at most."""

    async def run_all() -> list[Result]:
        return list(await asyncio.gather(*(_result(each, timeout) for each in checks)))

    with _silent():
        return uvloop.run(run_all())


async def _result(check: Check, seconds: float) -> Result:
    began = monotonic()
    try:
        async with asyncio.timeout(seconds):
            finding = await _finding(check.target, seconds)
    except TimeoutError:
        finding = error(f"no answer within {seconds:g} s")
    except Exception as failure:  # whatever a library raises concerns this check alone
        finding = error(_text(failure))
    return Result(check.name, finding, monotonic() - began)


async def _finding(target: targets.Local | targets.Remote, seconds: float) -> CheckFinding:
    """Checks Thrift Servers in this event loop, and all other targets in a thread each."""
    if isinstance(target, targets.ThriftServer):
        # Resolve the name first, in a daemon thread: the loop would use threads of its pool, which
        # the process waits for at its end.
        host, port = target.endpoint.host, target.endpoint.port
        await _in_thread(lambda: socket.getaddrinfo(host, port))
        return await services.thrift_server(target, seconds)
    local = _LOCAL.get(type(target))
    if local is not None:
        return await _in_thread(lambda: local(target))
    return await _in_thread(lambda: _REMOTE[type(target)](target, seconds))


def _text(failure: Exception) -> str:
    if isinstance(failure, CausewayError):  # without its hint, which is for users of the proxy
        return f"[{failure.code}] {failure.args[0]}"
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.filename}: {failure.strerror}" if failure.filename else failure.strerror
    return f"{type(failure).__name__}: {failure}"


async def _in_thread(work: Callable[[], T]) -> T:
    """Runs `work` in a daemon thread, which does not keep the process from ending."""
    future: Future[T] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(work())
        except BaseException as failure:
            future.set_exception(failure)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)


@contextmanager
def _silent() -> Iterator[None]:
    """Disables logging: the results contain the failures that libraries would log."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
