"""The settings of a running server: its file as it was at the start and at each reload.

Workers read these copies. A worker that is restarted replays them and has the same settings as the
others, whatever became of the file.
"""

from pathlib import Path

from conf.errors import UnreadableSettings
from conf.settings.load import load
from conf.settings.reload import reloaded
from conf.settings.settings import Settings


class SettingsHistory:
    """Copies of the settings file at `path`, in `folder`, which must not exist yet and which no
    other user may enter. `latest` is the newest copy."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Raises as `record`."""
        self._path = path
        self._folder = folder
        self._count = 0
        self.latest = folder / f"latest{path.suffix}"
        folder.mkdir()
        self.record()

    def record(self) -> None:
        """Copies the file as it is now, if it changed and is valid.

        Raises UnreadableSettings, or BadSetting naming file, key and reason; then nothing changes.
        """
        load(self._path)
        new = self._folder / f"new{self._path.suffix}"
        try:
            text = self._path.read_bytes()
            new.write_bytes(text)
            load(new)  # the file may be half written at this moment
            if self._count and text == self.latest.read_bytes():
                return
            (self._folder / f"{self._count:06}{new.suffix}").write_bytes(text)
            new.replace(self.latest)
        except OSError as error:
            raise UnreadableSettings(f"{self._path}: {error.strerror}.") from error
        self._count += 1


def replay(latest: Path) -> Settings:
    """The settings after the start and all reloads that a history has recorded."""
    first, *later = sorted(latest.parent.glob(f"[0-9]*{latest.suffix}"))
    settings = load(first)
    for each in later:
        settings = reloaded(settings, load(each)).settings
    return settings
