"""Reads statements from files, directories of Spark's event logs, and the history."""

import gzip
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TextIO

from advice.errors import BadLog
from advice.statement_log import Format, Logged, Unread, format_of, logged, read_log
from conf.settings.settings import Settings

_COMPRESSED = {".zst", ".zstd", ".lz4", ".lzf", ".snappy"}


def statements(paths: list[Path], form: Format | None, unread: Unread) -> Iterator[Logged]:
    """The statements of all files in their order. Raises BadLog."""
    for path in paths:
        for file in _files(path):
            yield from _of_file(file, form, unread)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file())
    return [each for each in found if not each.name.startswith((".", "appstatus"))]


def _of_file(path: Path, form: Format | None, unread: Unread) -> Iterator[Logged]:
    if path.suffix in _COMPRESSED:
        raise BadLog(f"{path} is compressed: decompress it first (only gzip is read).")
    try:
        with _open(path) as file:
            first = file.readline()
            while first and not first.strip():
                first = file.readline()
            lines = chain((first,), file)
            yield from read_log(lines, form or format_of(first), str(path), unread)
    except OSError as error:
        raise BadLog(f"{path} cannot be read: {error.strerror or error}") from None


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def history(settings: Settings, unread: Unread) -> Iterator[Logged]:
    """All statements of the history, the newest first. Raises BadLog, StoreUnavailable."""
    url = settings.operating.history_store
    if not url:
        raise BadLog("the settings name no history.store.")
    from database.history.history_store import HistoryStore
    from database.history.search import MAX_LIMIT, Search

    store, before = HistoryStore(url), None
    while True:
        parameters = {"limit": str(MAX_LIMIT)} | ({} if before is None else {"before": before})
        page = store.page(Search.read(parameters))
        for document in page["statements"]:
            found = logged(document, unread)
            if found is not None:
                yield found
        before = page["next"]
        if before is None:
            return
