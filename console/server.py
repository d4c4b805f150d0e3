"""Serves the console with uvicorn until SIGTERM or SIGINT."""

from collections.abc import Callable
from typing import Any

import uvicorn

from conf.server_certificate import Certificate
from conf.settings.settings import Settings
from console.app import make_app
from console.sources import Sources
from console.sources.history_client import HistoryClient
from console.sources.hudi_client import HudiClient
from console.sources.lifecycle_client import LifecycleClient
from console.sources.metastore_client import MetastoreClient
from console.sources.proxies_client import Proxies
from console.sources.sql_client import SqlClient

_MAX_CONNECTIONS = 500  # each live page keeps one open
_GRACE = 2  # seconds for responses that are being sent when the console stops


def open_sources(settings: Settings) -> Sources:
    """The sources that the settings name. Raises BadSetting."""
    return Sources(
        Proxies(settings),
        HistoryClient(settings),
        SqlClient(settings),
        MetastoreClient(settings),
        LifecycleClient(settings),
        HudiClient(),
    )


def make_server(settings: Settings, started: Callable[[str], None] = lambda url: None) -> "Server":
    """A server that is not running yet. It calls `started` with its URL once it listens. Raises
    NoConsole, BadSetting, BadCertificate."""
    app = make_app(settings, open_sources(settings))
    listen, tls = settings.console.listen, settings.transports.tls
    context: dict[str, Any] = {}
    if tls is not None:
        certificate = Certificate(tls)
        context["ssl_context_factory"] = lambda config, default: certificate.context
    config = uvicorn.Config(
        app,
        listen.host,
        listen.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
        **context,
    )
    url = f"{'http' if tls is None else 'https'}://{listen}"
    return Server(config, lambda: started(url))


class Server(uvicorn.Server):
    """A server that calls `listening` once it listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, *arguments: Any, **named: Any) -> None:
        await super().startup(*arguments, **named)
        if self.started:
            self._listening()
