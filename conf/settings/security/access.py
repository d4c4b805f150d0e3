"""The setting that names the file of access rules."""

from dataclasses import dataclass

from conf.access.document import read_rules
from conf.access.rules import AccessRules
from conf.kinds import SettingKind
from conf.settings.rows import LIVE, Setting, SettingsReader, made_of

_RULES: SettingKind[AccessRules] = SettingKind("file", read_rules, empty=AccessRules())
# fmt: off
RULES = Setting("access.rules", _RULES, "", LIVE,
    "A TOML or JSON file with rules about"
    " [who may read and write what](../guide/access.md). Without it everyone may do everything. It"
    " is read again when the settings are reloaded; a file with an error changes nothing then, and"
    " prevents a start.")


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """The access rules: who may read and write what."""

    rules: AccessRules = made_of(RULES, factory=AccessRules)


# fmt: on
def read(reader: SettingsReader, clusters: str) -> AccessSettings:
    """Reads the rules. `clusters` is the name of the setting without which no statement is
    analysed; empty if it is set."""
    if clusters and reader.is_set(RULES):
        reader.report(RULES, f"needs {clusters}: without clusters no statement is analysed")
    return AccessSettings(reader.read(RULES))
