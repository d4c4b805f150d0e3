"""Options that the lifecycle commands share, and the objects that they name."""

import argparse
import getpass
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from conf.settings.load import load
from conf.settings.settings import Settings
from metastore.errors import MetastoreError
from pipeline.falcon.calendar import parse_time
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.entities.process import Engine
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.errors import DocumentProblem
from pipeline.scheduler.actions import tables
from pipeline.scheduler.actions.catalog_service import CatalogService, load_catalog_service
from pipeline.scheduler.clock import SystemClock
from pipeline.scheduler.errors import CannotSchedule
from pipeline.scheduler.instances.work_records import OnChange, no_record

if TYPE_CHECKING:
    from pipeline.scheduler.store.store import Store  # SQLAlchemy is an extra

DEFAULT_STORE = ".causeway/lifecycle.db"


def add_store_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        default=os.environ.get("CAUSEWAY_STORE", DEFAULT_STORE),
        metavar="URL",
        help="SQLite file or postgresql://.. (%(default)s; CAUSEWAY_STORE)",
    )
    parser.add_argument(
        "--user",
        default=getpass.getuser(),
        help="the calling user; only the submitter of an entity may change it (%(default)s)",
    )


def add_entity_name(parser: argparse.ArgumentParser) -> None:
    kinds = [each.value for each in Kind]
    parser.add_argument("kind", choices=kinds, metavar="TYPE", help=", ".join(kinds))
    parser.add_argument("name", metavar="NAME")


def key_of(args: argparse.Namespace) -> EntityKey:
    return EntityKey(Kind(args.kind), args.name)


def open_store(args: argparse.Namespace, on_change: OnChange = no_record) -> "Store":
    from pipeline.scheduler.store.store import Store  # SQLAlchemy is an extra

    return Store(args.store, on_change)


def named_settings(paths: Sequence[Path] = ()) -> list[Settings]:
    """The settings in these files, or in those that CAUSEWAY_CONF names. The first ones apply to
    the process itself. Raises CausewayError.
    """
    named = os.environ.get("CAUSEWAY_CONF", "").split(os.pathsep)
    return [load(path) for path in paths or [Path(each) for each in named if each]]


def catalog_service(known: Sequence[Settings] | None = None) -> CatalogService:
    """The catalog service that the first settings name; without `known`, of CAUSEWAY_CONF. Raises
    CausewayError."""
    known = named_settings() if known is None else known
    name = next(iter(known), Settings()).lifecycle.catalog_service
    if name:
        return load_catalog_service(name)
    logins = {where: each.metastore_login for each in known for where in each.metastores}
    return tables.HiveCatalogService(logins)


def store_exists(url: str) -> bool:
    """Whether the store exists; always True for PostgreSQL. Reading commands check this, because
    opening an SQLite file creates it."""
    return url.startswith("postgres") or Path(url.removeprefix("sqlite:///")).exists()


def time_option(text: str) -> datetime:
    """The time in an argument. Raises ArgumentTypeError."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def now_of(args: argparse.Namespace) -> datetime:
    given: datetime | None = getattr(args, "at", None)
    return given or SystemClock().now()


class EngineCheck:
    """Returns why this machine cannot run an engine, or None if it can."""

    def __init__(self, pig: str | None) -> None:
        self._pig = pig

    def __call__(self, engine: Engine) -> str | None:
        if engine is Engine.OOZIE:
            return "engine oozie is not run here: write the workflow as a hive or spark process"
        if engine is Engine.PIG and not self._pig:
            return "engine pig: no pig command is configured (--pig or CAUSEWAY_PIG)"
        return None


def add_pig_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pig",
        default=os.environ.get("CAUSEWAY_PIG"),
        metavar="COMMAND",
        help="command that runs Pig scripts (CAUSEWAY_PIG)",
    )


def strict(entity: Entity, entity_set: EntitySet, user: str) -> Iterable[DocumentProblem]:
    """Problems with the entity's tables. Raises CannotSchedule if a metastore does not answer."""
    try:
        return tuple(tables.metastore_problems(entity, entity_set, user, catalog_service()))
    except MetastoreError as error:
        raise CannotSchedule(f"{entity.key}: its metastore cannot be asked: {error}") from error


def lenient(entity: Entity, entity_set: EntitySet, user: str) -> Iterable[DocumentProblem]:
    """Problems with the entity's tables; none if a metastore does not answer, because scheduling
    checks them again."""
    try:
        return tuple(tables.metastore_problems(entity, entity_set, user, catalog_service()))
    except MetastoreError as error:
        print(f"causeway: {entity.key}: tables are checked later: {error}", file=sys.stderr)
        return ()
