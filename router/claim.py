"""The claim of a statement: the decision as the guard compares it with Spark's plans.

It is sent with the statement in the configuration overlay of ExecuteStatement.
docs/internals/claim.md describes it, and `guard/` has the class that reads it.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any
from zlib import compress

from conf.names import ClusterName, PartitionRef, TableRef
from conf.partitions import TableFacts
from conf.settings.settings import Coverage
from dialect.lineage.temporary import is_variable
from dialect.statement import (
    CreateTempView,
    DropTemp,
    Known,
    RenameTemp,
    UncacheTable,
    Unknown,
    WriteAction,
)
from router.access.restrictions import UNRESTRICTED, UserRestrictions
from router.needs import InputTable, inputs
from router.request import Facts

KEY = "causeway.claim"
RESERVED_PREFIX = "causeway."  # clients may not set keys of the overlay with this prefix
# The versions by the newest field that a claim has. A guard refuses versions that it does not
# support.
VERSION = 1
VERSION_WITH_CHANGES = 2  # `changes`
VERSION_WITH_NAMES = 3  # `unless`
VERSION_WITH_ACCESS = 4  # `restricted` and `unread`
VERSION_OF_SCRIPTS = 5  # `script`
EVERY_TABLE = "*"  # in `unless`, for a statement that is not understood
MAX_PLAIN = 2_000  # characters; longer claims are deflated


class ClaimMode(Enum):
    """What the guard permits a statement to do."""

    RUN = "run"  # what the claim names
    READ = "read"  # read anything, write nothing (D11)
    SESSION = "session"  # change the session and read what is fresh, for a statement of the replay
    PARSE = "parse"  # be parsed
    ANALYZE = "analyze"  # be parsed and analysed
    PROBE = "probe"  # nothing; the guard replies that it checks claims


@dataclass(frozen=True, slots=True)
class Selection:
    """The claimed part of one table: the partitions with these `values`, or with `but` all others.

    None for `values` means the whole table, and an empty tuple its description alone. If the table
    is read from a copy, `write` and `facts` are the table's ids with which the copy was fresh.
    """

    values: tuple[tuple[str, ...], ...] | None = None
    but: bool = False
    write: str | None = None
    facts: str | None = None


DESCRIPTION = Selection(())


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The commits of a Hudi table after `start` up to and including `end`, at most `commits` of
    them. None means no limit."""

    start: str
    end: str | None
    commits: int | None

    def __str__(self) -> str:
        end = "" if self.end is None else f" until {self.end}"
        most = "all" if self.commits is None else f"at most {self.commits}"
        return f"commits after {self.start}{end}, {most}"


@dataclass(frozen=True, slots=True)
class WholeUnless:
    """The table is read as a whole, unless its name in Hudi's configuration is one of `names`: then
    the session's settings apply to it, and the guard refuses the read."""

    names: tuple[str, ...]


# The tables that are read incrementally. A table without a range (None) must not be read as a
# whole, and its name may lack the database.
Changes = Mapping[str, ChangeRange | WholeUnless | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """The objects that a statement may use according to its decision.

    - `explained`: it writes nothing. `idle`: it reads no data. `script`: handlers in the statement
      may catch Spark's errors.
    - `marks`: the ids of the statement's own running writes (`causeway.open.<id>`).
    - `opens`: the views and temporary objects through which it reads.
    - `changes`: the tables of which only changed rows are read, or may be.
    - `restricted`: the parts of tables that the user may see.
    """

    mode: ClaimMode = ClaimMode.RUN
    explained: bool = False
    idle: bool = False
    script: bool = False
    reads: Mapping[TableRef, Selection] = field(default_factory=dict)
    writes: Mapping[TableRef, Selection] = field(default_factory=dict)
    marks: Sequence[str] = ()
    opens: Sequence[str] = ()
    databases: Sequence[str] = ()
    paths_read: Sequence[str] = ()
    paths_written: Sequence[str] = ()
    changes: Changes = field(default_factory=dict)
    restricted: UserRestrictions = UNRESTRICTED


def claim_of(
    statement: Known | Unknown,
    cluster: ClusterName,
    facts: Facts,
    coverage: Coverage,
    targets: Iterable[TableRef | PartitionRef] = (),
    marks: Sequence[str] = (),
    changes: Changes = MappingProxyType({}),
    restricted: UserRestrictions = UNRESTRICTED,
) -> Claim:
    """The claim of a statement that runs in `cluster`. `targets` are the tables and partitions that
    its marks name."""
    if isinstance(statement, Unknown):
        return Claim(ClaimMode.READ, changes=changes)
    reads = {each.table: DESCRIPTION for each in statement.defined if facts.get(each.table, True)}
    for each in inputs(statement, facts, coverage):
        known = facts[each.table]
        assert known is not None  # `inputs` has existing tables only
        reads[each.table] = _selection(each, cluster, known)
    return Claim(
        explained=statement.explain,
        idle=_is_idle(statement),
        script=statement.is_script,
        reads=reads,
        writes=_writes(statement, targets),
        marks=marks,
        opens=(*map(str, statement.views), *_opened(statement)),
        databases=() if statement.database_written is None else (statement.database_written,),
        paths_read=statement.paths_read,
        paths_written=statement.paths_written,
        changes=changes,
        restricted=restricted,
    )


def _opened(statement: Known) -> list[str]:
    """The temporary objects through which the statement reads."""
    return [name.lower() for name in statement.temps if not is_variable(name)]


def _is_idle(statement: Known) -> bool:
    """Whether the statement only changes views or uncaches tables."""
    if statement.explain or statement.reads or statement.paths_read:
        return False
    if statement.writes:
        return all(write.action is WriteAction.VIEW for write in statement.writes)
    return isinstance(statement.effect, CreateTempView | DropTemp | RenameTemp | UncacheTable)


def _selection(read: InputTable, cluster: ClusterName, known: TableFacts) -> Selection:
    placed = read.placed
    if placed is None and not read.replicas:
        return DESCRIPTION
    write = facts = None
    if any(replicas.primary != cluster for replicas in read.replicas):
        write, facts = known.write, known.changes
    if placed is None:
        return Selection(None, False, write, facts)
    total, rows = len(placed.partitions), read.rows
    if placed.complete and len(rows) == total:
        return Selection(None, False, write, facts)
    but = placed.complete and total - len(rows) < len(rows)
    if but:
        rows = set(range(total)).difference(rows)
    values = tuple(placed.partitions.row(row) for row in sorted(rows))
    return Selection(values, but, write, facts)


def _writes(
    statement: Known, targets: Iterable[TableRef | PartitionRef]
) -> dict[TableRef, Selection]:
    """The claimed part of each written table: the partitions that the marks name, or the whole
    table."""
    partitions: dict[TableRef, list[tuple[str, ...]]] = {}
    whole = {each for each in targets if isinstance(each, TableRef)}
    for each in targets:
        if isinstance(each, PartitionRef) and each.table not in whole:
            partitions.setdefault(each.table, []).append(tuple(value for _, value in each.spec))
    writes = {}
    for write in statement.writes:
        named = partitions.get(write.table)
        writes[write.table] = Selection(None if named is None else tuple(named))
    return writes


def encode(claim: Claim) -> str:
    """The claim as the guard reads it: JSON; a long one is deflated and in base64."""
    document: dict[str, Any] = {"v": _version(claim)}
    if claim.mode is not ClaimMode.RUN:
        document["mode"] = claim.mode.value
    if claim.explained:
        document["explain"] = True
    if claim.idle:
        document["idle"] = True
    if claim.script:
        document["script"] = True
    for name, tables in (("reads", claim.reads), ("writes", claim.writes)):
        if tables:
            document[name] = {str(table): _document(each) for table, each in tables.items()}
    for name, texts in (
        ("marks", claim.marks),
        ("opens", claim.opens),
        ("databases", claim.databases),
        ("paths", claim.paths_read),
        ("outs", claim.paths_written),
    ):
        if texts:
            document[name] = list(texts)
    changes: dict[str, Any] = {}
    unless: dict[str, Any] = {}
    for table, selected in claim.changes.items():
        if isinstance(selected, WholeUnless):
            unless[table] = selected.names
        else:
            changes[table] = None if selected is None else _range(selected)
    document |= {"changes": changes} if changes else {}
    document |= {"unless": unless} if unless else {}
    document |= _access(claim.restricted) if claim.restricted else {}
    text = json.dumps(document, separators=(",", ":"))
    if len(text) <= MAX_PLAIN:
        return text
    return b64encode(compress(text.encode(), 1)).decode()


def _version(claim: Claim) -> int:
    if claim.script:
        return VERSION_OF_SCRIPTS
    if claim.restricted:
        return VERSION_WITH_ACCESS
    if any(isinstance(each, WholeUnless) for each in claim.changes.values()):
        return VERSION_WITH_NAMES
    return VERSION_WITH_CHANGES if claim.changes else VERSION


def _document(selection: Selection) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if selection.values is not None:
        document["but" if selection.but else "in"] = selection.values
    if selection.write is not None:
        document["write"], document["facts"] = selection.write, selection.facts
    return document


def _access(restricted: UserRestrictions) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for table, each in restricted.tables.items():
        part: dict[str, Any] = {} if each.rows is None else {"filter": asdict(each.rows)}
        part |= {"masks": {name: asdict(mask) for name, mask in each.masks.items()}}
        tables[str(table)] = part | {"denied": dict(each.denied)}
    unread = [str(each) for each in restricted.unread]
    return {"user": restricted.user, "restricted": tables, "unread": unread}


def _range(selected: ChangeRange) -> dict[str, Any]:
    known = {"start": selected.start, "end": selected.end, "commits": selected.commits}
    return {name: value for name, value in known.items() if value is not None}


SESSION = encode(Claim(ClaimMode.SESSION))
PARSE = encode(Claim(ClaimMode.PARSE))
ANALYZE = encode(Claim(ClaimMode.ANALYZE))
PROBE = encode(Claim(ClaimMode.PROBE))
