"""What users may not do in their sessions: settings, functions and statements that are denied.

The names are HiveServer2's where it has the same. A pattern of settings without `*` is a prefix, as
in HiveServer2; with `*` it is the whole name. Names are compared by `canonical_name`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from conf.settings.names import canonical_name
from conf.settings.parse import Reader

RESTRICTED = "hive.conf.restricted.list"
ALLOWED = "hive.security.authorization.sqlstd.confwhitelist"
ALLOWED_TOO = "hive.security.authorization.sqlstd.confwhitelist.append"
IGNORED = "proxy.session.conf.ignore.list"
FUNCTIONS = "hive.server2.builtin.udf.blacklist"
STATEMENTS = "proxy.denied.statements"

NAMES: tuple[str, ...] = (RESTRICTED, ALLOWED, ALLOWED_TOO, IGNORED, FUNCTIONS, STATEMENTS)

# Settings that would lead a session to other data than the decision was about (another file system,
# metastore or catalog), and what the guard is told by. They are restricted whatever the operator
# lists.
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
# Sent by JDBC clients by themselves; they say how the client fetches.
_OF_CLIENTS = frozenset(("hive.server2.thrift.resultset.default.fetch.size",))
_OF_CAUSEWAY = frozenset(
    ("hive.cluster.properties", "hive.default.cluster.name", "hive.use.default.cluster")
)


class Code(Enum):
    """`proxy.denied.statements`: how a statement brings code of its own to a cluster."""

    SCRIPT = "transform"  # TRANSFORM, MAP, REDUCE .. USING 'script'
    RESOURCE = "add"  # ADD JAR, FILE, ARCHIVE
    FUNCTION = "create-function"  # CREATE [TEMPORARY] FUNCTION


class Verdict(Enum):
    """What becomes of a setting that a client sends."""

    TAKEN = "taken"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Restrictions:
    """`restricted` and `ignored` are patterns in lower case. `allowed` is a regular expression of
    whole names, None: any name. `functions` are names in lower case."""

    restricted: tuple[str, ...] = ALWAYS_RESTRICTED
    ignored: tuple[str, ...] = ()
    allowed: re.Pattern[str] | None = None
    functions: frozenset[str] = frozenset()
    statements: frozenset[Code] = frozenset()
    _restricted: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _ignored: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_restricted", _any_of(self.restricted))
        object.__setattr__(self, "_ignored", _any_of(self.ignored))

    def of_setting(self, key: str) -> Verdict:
        """What becomes of a setting, in whatever spelling a client sends it."""
        name = canonical_name(key)
        if self._ignored.fullmatch(name):
            return Verdict.IGNORED
        if self._restricted.fullmatch(name) or not self._is_allowed(name):
            return Verdict.REFUSED
        return Verdict.TAKEN

    def _is_allowed(self, name: str) -> bool:
        """A name without a dot is a variable of the user's, which no engine has as a setting."""
        if self.allowed is None or "." not in name or name in _OF_CLIENTS | _OF_CAUSEWAY:
            return True
        return self.allowed.fullmatch(name) is not None

    @property
    def deny_code(self) -> bool:
        """Whether a statement has to be understood before it may run anywhere."""
        return bool(self.functions or self.statements)


def read(reader: Reader) -> Restrictions:
    """Raises BadSetting."""
    none: tuple[str, ...] = ()
    return Restrictions(
        restricted=(*ALWAYS_RESTRICTED, *reader.read(RESTRICTED, _listed, none)),
        ignored=reader.read(IGNORED, _listed, none),
        allowed=_allowed(reader),
        functions=frozenset(reader.read(FUNCTIONS, _listed, none)),
        statements=reader.read(STATEMENTS, _statements, frozenset()),
    )


def _allowed(reader: Reader) -> re.Pattern[str] | None:
    """HiveServer2's two settings are regular expressions in Java's syntax, separated by `|`."""
    parts = [reader.read(name, _expression, "") for name in (ALLOWED, ALLOWED_TOO)]
    if not parts[0]:
        return None
    return re.compile("|".join(f"(?:{part})" for part in parts if part), re.IGNORECASE)


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip().lower() for each in text.split(",") if each.strip())


def _statements(text: str) -> frozenset[Code]:
    known = {code.value: code for code in Code}
    for each in _listed(text):
        if each not in known:
            raise ValueError(f"{each!r} is not one of {', '.join(known)}")
    return frozenset(known[each] for each in _listed(text))


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    """Matches whole names that fit one of the patterns; without patterns, none."""
    parts = [
        re.escape(each).replace(r"\*", ".*") if "*" in each else re.escape(each) + ".*"
        for each in patterns
    ]
    return re.compile("|".join(parts) if parts else r"(?!)")
