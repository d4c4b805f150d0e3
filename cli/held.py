"""The settings that a server goes by: its file as it was at the start and at each reload.

Workers read these. One that is started anew is then as the others are, whatever became of the file.
"""

from pathlib import Path

from conf.errors import UnreadableSettings
from conf.settings.load import load
from conf.settings.reload import reloaded
from conf.settings.settings import Settings


class Held:
    """`latest` is what the file of `path` held when it was last taken over, in `folder`, which is
    empty and no other user's."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Raises as `take`."""
        self._path = path
        self._folder = folder
        self._taken = 0
        self.latest = folder / f"latest{path.suffix}"
        folder.mkdir()
        self.take()

    def take(self) -> None:
        """Takes the file over as it is now. Raises UnreadableSettings, or BadSetting naming file,
        key and reason: then all stays as it was."""
        load(self._path)
        new = self._folder / f"new{self._path.suffix}"
        try:
            text = self._path.read_bytes()
            new.write_bytes(text)
            load(new)  # somebody may be writing the file at this moment
            if self._taken and text == self.latest.read_bytes():
                return
            (self._folder / f"{self._taken:06}{new.suffix}").write_bytes(text)
            new.replace(self.latest)
        except OSError as error:
            raise UnreadableSettings(f"{self._path}: {error.strerror}.") from error
        self._taken += 1


def taken(latest: Path) -> Settings:
    """What holds after all that was taken over, in a process that begins only now."""
    first, *later = sorted(latest.parent.glob(f"[0-9]*{latest.suffix}"))
    settings = load(first)
    for each in later:
        settings = reloaded(settings, load(each)).settings
    return settings
