"""The setting that names the file of access rules."""

from dataclasses import dataclass

from conf.access.document import read_rules
from conf.access.rules import AccessRules
from conf.kinds import Kind
from conf.settings.rows import LIVE, Reader, Setting, made_of

_RULES: Kind[AccessRules] = Kind("file", read_rules, empty=AccessRules())
# fmt: off
RULES = Setting("access.rules", _RULES, "", LIVE,
    "A TOML or JSON file with rules about"
    " [who may read and write what](../guide/access.md). Without it everyone may do everything. It"
    " is read again when the settings are reloaded; a file with an error changes nothing then, and"
    " prevents a start.")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read and write what."""

    rules: AccessRules = made_of(RULES, factory=AccessRules)


# fmt: on
def read(reader: Reader, clusters: str) -> Access:
    """`clusters` is the setting without which no statement is analysed, empty where it is set."""
    if clusters and reader.is_set(RULES):
        reader.report(RULES, f"needs {clusters}: without clusters no statement is looked at")
    return Access(reader.read(RULES))
