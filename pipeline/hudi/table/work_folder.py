"""Temporary folders of pulls. A killed pull leaves its folder, which the next pull deletes."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "causeway-pull-"
_LOCK = "lock"


@contextmanager
def work_folder() -> Iterator[str]:
    """A folder below TMPDIR that is deleted at the end. Deletes those of pulls that were killed."""
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as root:
        new = Path(root, "new")
        with new.open("w") as lock:
            # The file is renamed when it is locked, so a sweep never finds an unlocked `lock`.
            fcntl.flock(lock, fcntl.LOCK_EX)
            new.rename(Path(root, _LOCK))
            yield root


def _sweep(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), lock.open("r+") as file:
            if os.fstat(file.fileno()).st_uid == os.getuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if a pull runs there
                shutil.rmtree(lock.parent, ignore_errors=True)
