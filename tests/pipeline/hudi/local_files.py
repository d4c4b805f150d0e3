"""Carries files on this machine, for replications without Spark."""

import shutil
from pathlib import Path

from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileEntry,
    FileListing,
    FileResult,
    FileStatus,
)


class LocalFiles:
    """Carries on this machine; dies after `left` files."""

    def __init__(self, left: int = 10_000):
        self.left, self.sent = left, []

    def copy_files(
        self, orders: list[FileCopy], options: CopyOptions, progress=None
    ) -> list[FileResult]:
        return [self._one(order) for order in orders]

    def _one(self, order):
        target = Path(order.target) / order.entry.path
        if target.exists() and target.stat().st_size == order.entry.length:
            return FileResult(order, FileStatus.KEPT, 0)
        if self.left == 0:
            return FileResult(order, FileStatus.FAILED, 0, message="killed")
        self.left -= 1
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(order.source) / order.entry.path, target)
        self.sent.append(order.entry.path)
        return FileResult(order, FileStatus.SENT, order.entry.length)

    def listings(self, locations):
        return [FileListing(tuple(entries(Path(each)))) for each in locations]

    def delete(self, locations):
        for each in map(Path, locations):
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink(missing_ok=True)

    def read_marker(self, location):
        return Path(location).read_text() if Path(location).exists() else None

    def write_marker(self, location, text):
        Path(location).parent.mkdir(parents=True, exist_ok=True)
        Path(location).write_text(text)


def entries(folder):
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        yield FileEntry(str(path.relative_to(folder)), path.stat().st_size, 0)
