"""Keeps copies of a running server's settings file and of its access rules, from the start and from
each reload.

Workers read these copies. A restarted worker replays them, so it has the same settings as the other
workers, even if the file has changed since.
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
    """Copies of the settings file at `path`. The new folder `folder` must be closed to other users.
    `latest` is the newest copy, and `settings` are its settings."""

    def __init__(self, path: Path, folder: Path) -> None:
        """Creates the folder and records the file. Raises as `record`."""
        self._path = path
        self._folder = folder
        self._count = 0
        self._rules = ""
        self.latest = folder / f"latest{path.suffix}"
        self.settings: Settings
        folder.mkdir()
        self.record()

    def record(self) -> None:
        """Copies the file if it is valid and has changed.

        Changes nothing and raises UnreadableSettings if it cannot be read, BadSetting with file,
        key and reason if it is not valid.
        """
        load(self._path)
        new = self._folder / f"new{self._path.suffix}"
        try:
            text = self._path.read_bytes()
            new.write_bytes(text)
            rules = _rules_named(new)
            copy = _rules_of(new)
            copy.write_text(rules)
            # Load the copies: another process may be writing the originals.
            settings = load(new, _replaced_settings(new))
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
    return load(copy, _replaced_settings(copy))


def replay(latest: Path) -> Settings:
    """The settings after the start and all recorded reloads."""
    first, *later = _copies(latest)
    settings = load(first, _replaced_settings(first))
    for each in later:
        settings = reloaded(settings, load(each, _replaced_settings(each))).settings
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
    """The file of the access rules that belong to this copy of the settings."""
    return path.with_name(f"rules-{path.stem}.json")


def _replaced_settings(path: Path) -> dict[str, str]:
    """The settings that replace those in a copy: its rules are in a copy, too."""
    rules = _rules_of(path)
    return {RULES.name: str(rules)} if rules.stat().st_size else {}
