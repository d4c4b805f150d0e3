"""`causeway console`: runs the web console in a process of its own."""

import argparse

from cli.errors import CannotListen
from cli.target import add_target_arguments, load_settings
from conf.logs.logs import configure_logs


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)


def run(args: argparse.Namespace) -> int:
    settings = load_settings(args)
    configure_logs(settings.operating.log_format, settings.operating.log_level)
    try:
        from console.server import make_server
    except ImportError as error:
        from console.errors import NoConsole

        raise NoConsole(f"{error}: pip install 'causeway[console]'.") from error
    server = make_server(settings, lambda url: print(f"The console is at {url}", flush=True))
    try:
        server.run()
    except SystemExit as error:  # raised by uvicorn after it logged the reason
        raise CannotListen(f"{settings.console.listen}: see the line above.") from error
    return 0
