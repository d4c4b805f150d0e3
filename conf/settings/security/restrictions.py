"""The settings, functions and statements that users are denied.

The names are HiveServer2's where it has the same setting. A pattern without `*` is a prefix, as in
HiveServer2; a pattern with `*` matches the whole name. Names are compared by `canonical_name`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from conf.kinds import LOWER_LIST, LOWER_SET, SettingKind, comma_separated_lower
from conf.settings.fetching import Fetching
from conf.settings.names import canonical_name
from conf.settings.rows import LIVE, Setting, SettingsReader, all_rows, made_of, setting

# Settings that lead a session to another file system, metastore or catalog than the decision was
# made for, and those that configure the guard. They are always restricted.
ALWAYS_RESTRICTED = (
    "causeway.",
    "fs.defaultfs",
    "fs.default.name",
    "fs.*.impl",
    "fs.viewfs.mounttable.",
    "dfs.nameservices",
    "dfs.internal.nameservices",
    "dfs.ha.namenodes.",
    "dfs.namenode.rpc-address",
    "dfs.client.failover.proxy.provider.",
    "hive.metastore.uris",
    "javax.jdo.option.",
    "spark.causeway.",
    "spark.sql.catalog.spark_catalog",
)
# JDBC clients send these by themselves; they configure how the client fetches.
_OF_CLIENTS = frozenset(("hive.server2.thrift.resultset.default.fetch.size",))
_OF_CAUSEWAY = frozenset(
    ("hive.cluster.properties", "hive.default.cluster.name", "hive.use.default.cluster")
)
_OF_SESSIONS = frozenset(("causeway.fetch.missing", "causeway.priority"))


class Code(Enum):
    """`proxy.denied.statements`: the ways in which a statement brings its own code to a cluster."""

    SCRIPT = "transform"  # TRANSFORM, MAP, REDUCE .. USING 'script'
    RESOURCE = "add"  # ADD JAR, FILE, ARCHIVE
    FUNCTION = "create-function"  # CREATE [TEMPORARY] FUNCTION


class SettingVerdict(Enum):
    """What the proxy does with a setting that a client sends: applies, drops or refuses it."""

    ACCEPTED = "accepted"
    IGNORED = "ignored"
    REFUSED = "refused"


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


def _statements(text: str) -> frozenset[Code]:
    known = {code.value: code for code in Code}
    for each in comma_separated_lower(text):
        if each not in known:
            raise ValueError(f"{each!r} is not one of {', '.join(known)}")
    return frozenset(known[each] for each in comma_separated_lower(text))


_EXPRESSION = SettingKind("regular expression", _expression, empty="")
_STATEMENTS: SettingKind[frozenset[Code]] = SettingKind(
    "list", _statements, {"type": ["string", "array"]}, frozenset()
)
# fmt: off
_RESTRICTED = Setting("hive.conf.restricted.list", LOWER_LIST, "", LIVE,
"Settings that users may not change (CW230), besides those that would lead a session to other"
    f" data and are always restricted: {', '.join(f'`{each}`' for each in ALWAYS_RESTRICTED)}.")
_ALLOWED = Setting("hive.security.authorization.sqlstd.confwhitelist", _EXPRESSION, "", LIVE,
    "A regular expression of the settings that users may change; others are refused (CW230)."
    " Names without a dot are variables of users and always allowed.", shown="any")
_ALLOWED_TOO = Setting("hive.security.authorization.sqlstd.confwhitelist.append",
    _EXPRESSION, "", LIVE,
    "Another regular expression of settings that users may change. It has an effect only with"
    " `hive.security.authorization.sqlstd.confwhitelist`.")


@dataclass(frozen=True, slots=True)
class SessionRestrictions:
    """What sessions may not do. `restricted` and `ignored` are patterns of settings in lower case.
    `allowed` is a regular expression of whole names of settings; None: any. `functions` are names
    in lower case. `fetch_limit` is the highest value of `causeway.fetch.missing`."""

    restricted: tuple[str, ...] = made_of(_RESTRICTED, factory=lambda: ALWAYS_RESTRICTED)
    allowed: re.Pattern[str] | None = made_of(_ALLOWED, _ALLOWED_TOO, factory=lambda: None)
    ignored: tuple[str, ...] = setting("proxy.session.conf.ignore.list", LOWER_LIST, "", LIVE,
        "Settings that are accepted from users and then dropped; no cluster receives them."
        " Kyuubi's `kyuubi.session.conf.ignore.list` is the same.")
    functions: frozenset[str] = setting("hive.server2.builtin.udf.blacklist", LOWER_SET, "", LIVE,
        "Functions that users may not call (CW231), separated by commas.")
    statements: frozenset[Code] = setting("proxy.denied.statements", _STATEMENTS, "", LIVE,
        "Kinds of statements that bring code and are refused (CW231): `transform` (TRANSFORM,"
        " MAP and REDUCE with a script), `add` (ADD JAR, FILE, ARCHIVE), `create-function`"
        " (temporary functions too).")
    fetch_limit: int = made_of(factory=lambda: 0)
    _restricted: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _ignored: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_restricted", _any_of(self.restricted))
        object.__setattr__(self, "_ignored", _any_of(self.ignored))

    def of_setting(self, key: str) -> SettingVerdict:
        """What the proxy does with a setting, in any spelling."""
        name = canonical_name(key)
        if self._ignored.fullmatch(name):
            return SettingVerdict.IGNORED
        if name in _OF_SESSIONS:
            return SettingVerdict.ACCEPTED
        if self._restricted.fullmatch(name) or not self._is_allowed(name):
            return SettingVerdict.REFUSED
        return SettingVerdict.ACCEPTED

    def _is_allowed(self, name: str) -> bool:
        """Whether `allowed` permits the setting. A name without a dot is a variable of the user, as
        no engine has such a setting."""
        if self.allowed is None or "." not in name or name in _OF_CLIENTS | _OF_CAUSEWAY:
            return True
        return self.allowed.fullmatch(name) is not None

    @property
    def deny_code(self) -> bool:
        """Whether a statement has to be analysed before it may run anywhere."""
        return bool(self.functions or self.statements)


# fmt: on
def read(reader: SettingsReader, clusters: str) -> SessionRestrictions:
    """Reads the restrictions. `clusters` is the name of the setting without which no statement is
    analysed; empty if it is set. Restrictions that nothing would enforce are problems."""
    for row in all_rows(SessionRestrictions):
        if clusters and reader.is_set(row):
            reason = f"needs {clusters}: without clusters no statement is analysed"
            reader.report(row, reason)
    return reader.group(
        SessionRestrictions,
        restricted=(*ALWAYS_RESTRICTED, *reader.read(_RESTRICTED)),
        allowed=_allowed(reader),
        fetch_limit=reader.group(Fetching).limit,
    )


def _allowed(reader: SettingsReader) -> re.Pattern[str] | None:
    """HiveServer2's two settings are regular expressions in Java's syntax, separated by `|`."""
    parts = [reader.read(row) for row in (_ALLOWED, _ALLOWED_TOO)]
    if not parts[0]:
        return None
    return re.compile("|".join(f"(?:{part})" for part in parts if part), re.IGNORECASE)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """An expression for the names that match one of the patterns; without patterns, for no name."""
    parts = [
        re.escape(each).replace(r"\*", ".*") if "*" in each else re.escape(each) + ".*"
        for each in patterns
    ]
    return re.compile("|".join(parts) if parts else r"(?!)")
