"""Settings of a test, by name."""

from collections.abc import Mapping

from conf.errors import BadSettings
from conf.settings.settings import Settings, read_settings


def settings_from(values: Mapping[str, str], source: str) -> Settings:
    """Validates the settings. Raises BadSettings, which names `source`."""
    settings, problems = read_settings(values)
    if problems:
        raise BadSettings(source, problems)
    return settings
