"""The settings of a running server: its file as it was at the start and at each reload, with the
access rules that it names.

Workers read these copies. A worker that is restarted replays them and has the same settings as the
others, whatever became of the file.
"""

import json
from pathlib import Path

from conf.access.document import read_document
from conf.errors import UnreadableSettings
from conf.kinds import BadValue
from conf.settings.load import load, properties
from conf.settings.reload import reloaded
from conf.settings.security.access import RULES
from conf.settings.settings import Settings


class SettingsHistory:
    """Copies of the settings file at `path`, in `folder`, which must not exist yet and which no
    other user may enter. `latest` is the newest copy, and `settings` are what it says."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Raises as `record`."""
        self._path = path
        self._folder = folder
        self._count = 0
        self._rules = ""
        self.latest = folder / f"latest{path.suffix}"
        self.settings: Settings
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
            rules = _rules_named(new)
            copy = _rules_of(new)
            copy.write_text(rules)
            settings = load(new, _instead(new))  # the files may be half written at this moment
            if self._count and text == self.latest.read_bytes() and rules == self._rules:
                return
            number = self._folder / f"{self._count:06}{new.suffix}"
            copy.replace(_rules_of(number))
            number.write_bytes(text)
            new.replace(self.latest)
            self._rules = rules
        except OSError as error:
            raise UnreadableSettings(f"{self._path}: {error.strerror}.") from error
        self._count += 1
        self.settings = settings


def newest(latest: Path) -> Settings:
    """The settings of the newest copy."""
    copy = _copies(latest)[-1]
    return load(copy, _instead(copy))


def replay(latest: Path) -> Settings:
    """The settings after the start and all reloads that a history has recorded."""
    first, *later = _copies(latest)
    settings = load(first, _instead(first))
    for each in later:
        settings = reloaded(settings, load(each, _instead(each))).settings
    return settings


def _copies(latest: Path) -> list[Path]:
    return sorted(latest.parent.glob(f"[0-9]*{latest.suffix}"))


def _rules_named(path: Path) -> str:
    """The access rules that the settings file names, as JSON; empty if it names none.

    Raises UnreadableSettings.
    """
    name = properties(path).get(RULES.name, "").strip()
    try:
        return json.dumps(read_document(name)) if name else ""
    except BadValue as error:
        raise UnreadableSettings(f"{RULES.name}: {error}.") from error


def _rules_of(path: Path) -> Path:
    """Where the access rules of this copy of the settings are."""
    return path.with_name(f"rules-{path.stem}.json")


def _instead(path: Path) -> dict[str, str]:
    """The settings of a copy that are not as the file says."""
    rules = _rules_of(path)
    return {RULES.name: str(rules)} if rules.stat().st_size else {}
