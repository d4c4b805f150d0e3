"""Checks of Causeway's own databases. They change nothing there."""

from pathlib import Path
from typing import TYPE_CHECKING

from cli.check import targets
from cli.check.files import not_writable
from cli.check.report import CheckFinding, error, ok

if TYPE_CHECKING:
    from database.migration import Migrations


def history(target: targets.HistoryDatabase, timeout: float) -> CheckFinding:
    """Whether the history's database has a usable schema. Raises StoreUnavailable."""
    try:
        from database.history.migrations import MIGRATIONS  # SQLAlchemy is an extra
    except ModuleNotFoundError as missing:
        return _lacks(missing)
    return _store(target.url, MIGRATIONS)


def lifecycle_store(target: targets.LifecycleStore, timeout: float) -> CheckFinding:
    """Whether the lifecycle's database has a usable schema. Raises StoreUnavailable."""
    try:
        from pipeline.scheduler.store.migrations import MIGRATIONS
    except ModuleNotFoundError as missing:
        return _lacks(missing)
    return _store(target.url, MIGRATIONS)


def _lacks(missing: ModuleNotFoundError) -> CheckFinding:
    return error(f"{missing.name} is not installed: pip install 'causeway[history]'")


def _store(url: str, migrations: "Migrations") -> CheckFinding:
    from database.database import open_database

    if url.startswith("sqlite://") or "://" not in url:
        path = Path(url.removeprefix("sqlite:///"))
        folder = next(each for each in (path, *path.absolute().parents) if each.exists())
        if reason := not_writable(folder if folder == path else folder / "new"):
            return error(reason)
        if not path.exists():
            return ok(f"{path} is created at the first start")
    database = open_database(url)
    return schema(database.name, database.revision(migrations), migrations.head)


def schema(name: str, revision: str | None, head: str) -> CheckFinding:
    """Whether this release, whose schema is `head`, can use a database of this revision. Pure."""
    if revision is None:
        return ok(f"{name} has no tables yet: the first start creates them")
    if revision > head:
        return error(f"{name} has schema {revision} of a later release; this one knows {head}")
    if revision < head:
        return ok(f"{name} has schema {revision}, which the next start migrates to {head}")
    return ok(f"{name} has schema {revision}")
