"""The tables of the analysis against those of Spark's own parsed plan.

For each statement that Spark parses, both name the same tables, or ours is Unknown. A statement
that Spark refuses may have any answer: nothing of it is run.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from dialect.analyze import FAILED, analyze
from dialect.lexing.token_cursor import is_path
from dialect.parsing.variables import substitute
from dialect.statement import (
    AddResource,
    Analysis,
    Known,
    Namespace,
    ResetVariables,
    SetVariable,
    Unknown,
    UseDatabase,
)
from tests.dialect.spark.client import Answer, SparkText
from tests.dialect.spark.queries import VARIABLES

_DATABASE = "cur"

# Where Spark's plans have the table that a statement writes: the first part of these commands.
_WRITING = """
    InsertIntoStatement OverwriteByExpression DeleteFromTable UpdateTable MergeIntoTable LoadData
    CreateTable CreateTableAsSelect CreateTableLikeCommand CreateTableLike ReplaceTable
    ReplaceTableAsSelect DropTable TruncateTable TruncatePartition RenameTable CommentOnTable
    AddColumns ReplaceColumns DropColumns RenameColumn AlterColumn AlterColumns AlterTableClusterBy
    AddConstraint AddCheckConstraint DropConstraint CreateMaterializedViewAsSelect
    AddPartitions DropPartitions RenamePartitions RecoverPartitions RepairTable SetTableLocation
    SetTableProperties UnsetTableProperties SetTableSerDeProperties AnalyzeTable AnalyzeColumn
    CreateView DropView AlterViewAs AlterViewSchemaBinding SetViewProperties UnsetViewProperties
"""
_TARGETS = {"RenameTable.1", *(f"{command}.0" for command in _WRITING.split())}
_DATABASES = frozenset(
    f"{command}.0"
    for command in (
        *("CreateNamespace", "DropNamespace", "SetNamespaceProperties", "SetNamespaceLocation"),
        *("CommentOnNamespace",),
    )
)
_USES = frozenset({"SetCatalogAndNamespace.0", "SetNamespaceCommand.0"})
# Spark reads the text of these itself: the plan has what it read.
_OF_TEXT = frozenset(
    {"SetCommand", "ResetCommand", "AddJarsCommand", "AddFilesCommand", "AddArchivesCommand"}
)
# Tables that are read, or described.
_RELATIONS = frozenset({"UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView"})
# Functions whose queries the plan has as texts.
_FUNCTIONS = frozenset({"CreateSQLFunctionCommand", "CreateUserDefinedFunction"})
_CREATING = frozenset({"ctas", "create_view", "create_table"})
# Relations that are named and not read.
_NAMED = frozenset({"UncacheTable.0", "ShowTablePartition.0"})


class _Everything:
    """A catalog in which every table exists."""

    def table(self, ref: TableRef) -> TableInfo | None:
        return TableInfo(ref, TableKind.TABLE, (Column("x", "int"), Column("y", "int")))


@dataclass(frozen=True, slots=True)
class _Tables:
    """Tables read, written, and only named by a statement; whether it has a column `select`."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    databases: frozenset[str] = frozenset()
    used: str = ""
    selects_select: bool = False


@dataclass(slots=True)
class Score:
    """Differences, and the number of statements that both sides read."""

    differences: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def known(self) -> float:
        """The part of Spark's statements of which the analysis is certain."""
        return self.counts["known"] / max(self.counts["known"] + self.counts["unknown"], 1)


def _name(parts: list[str]) -> str:
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) == 1:
        parts = [_DATABASE, *parts]
    return "\x02".join(part.lower() for part in parts)


def _of_spark(fields: Iterable[str]) -> _Tables:
    reads, writes, named, databases = set(), set(), set(), set()
    source, used, selects_select = [_DATABASE], "", False
    for text in fields:
        owner, kind, *parts = text.split("\x02")
        if owner in _DATABASES:
            databases.add(parts[-1].lower())
        elif owner == "CreateFunction.0":
            databases.add([_DATABASE, *parts][-2].lower())
        elif owner in _USES:
            used = parts[-1].lower()
        elif kind == "UnresolvedNamespace":
            continue
        elif kind == "UnresolvedAttribute":
            selects_select = True
        elif owner in _TARGETS:
            if owner == "RenameTable.1" and len(parts) == 1:  # it stays in its database
                parts = [*source, *parts]
            source = parts[:-1] or source
            writes.add(_name(parts))
        elif kind in _RELATIONS and owner not in _NAMED:
            if not is_path([part.lower() for part in parts]):
                reads.add(_name(parts))
        else:
            named.add(_name(parts))
    return _Tables(*map(frozenset, (reads, writes, named, databases)), used, selects_select)


def _key(ref: TableRef) -> str:
    return f"{ref.db}\x02{ref.name}".lower()


def _of_ours(known: Known) -> _Tables:
    reads = frozenset(_key(read.table) for read in (*known.reads, *known.defined))
    return _Tables(reads, frozenset(_key(write.table) for write in known.writes))


def _difference(command: str, text: str, spark: _Tables, known: Known) -> str | None:
    ours = _of_ours(known)
    # Every table exists here, so that CREATE TABLE IF NOT EXISTS writes nothing.
    skips = any(each.kind in _CREATING and not each.writes for each in known.parts or (known,))
    skipped = skips and "exists" in substitute(text, VARIABLES).lower()
    # `(SELECT * FROM a, b)` is a row of columns to Spark, one of them called select. Where there
    # are such columns the tables are named without need, which harms nothing.
    more = spark.selects_select or command in _FUNCTIONS
    if command == "AddCheckConstraint":  # reads the rows of the table that it changes
        spark = replace(spark, reads=frozenset(), writes=spark.reads)
    if not spark.reads <= ours.reads:
        return f"reads that we miss: {sorted(spark.reads - ours.reads)}"
    if not more and not ours.reads <= spark.reads | spark.writes | spark.named:
        return f"reads that Spark has not: {sorted(ours.reads - spark.reads)}"
    if spark.databases and {known.database_written} != spark.databases:
        return f"the database {known.database_written}, in Spark {sorted(spark.databases)}"
    wanted = None if spark.used in ("", "spark_catalog") else UseDatabase(spark.used)
    if spark.used and known.effect != wanted:
        return f"{known.effect}, in Spark USE {spark.used}"
    if not ours.writes <= spark.writes:
        return f"writes that Spark has not: {sorted(ours.writes - spark.writes)}"
    if not spark.writes <= ours.writes and not skipped:
        return f"writes that we miss: {sorted(spark.writes - ours.writes)}"
    return None


def _setting_difference(command: str, fields: Answer, known: Known) -> str | None:
    effect = known.effect
    if isinstance(effect, SetVariable) and effect.by_server and len(fields) == 2:
        effect = replace(effect, value=fields[1], by_server=False)  # the zone of Spark's machine
    if command.startswith("Add"):
        wanted: object = AddResource(tuple(fields))
    elif command == "ResetCommand":
        wanted = ResetVariables(fields[0] if fields else None)
    else:
        wanted = SetVariable(*fields) if len(fields) == 2 else None
    return None if effect == wanted else f"Spark has {wanted}, we have {effect}"


def _compare(score: Score, text: str, answer: Answer, ours: Analysis) -> None:
    if answer[0] == "error":
        score.counts["refused by Spark"] += 1
        return
    command, fields = answer[0], answer[1:]
    if isinstance(ours, Unknown):
        score.counts["unknown"] += 1
        score.refusals[f"{command}: {ours.why.split(' near ')[0][:70]}"] += 1
        if ours.why == FAILED:
            score.differences.append(f"{text!r}: the analysis failed")
        return
    assert isinstance(ours, Known)
    score.counts["known"] += 1
    if command in _OF_TEXT:
        found = _setting_difference(command, fields, ours)
    else:
        found = _difference(command, text, _of_spark(fields), ours)
    if found:
        score.differences.append(f"{command} {text!r}: {found}")


def compared(
    spark: SparkText, texts: Iterable[str], variables: Mapping[str, str] | None = None
) -> Score:
    """Compares the results of both sides for each text."""
    score, waiting = Score(), iter(texts)
    namespace = Namespace(_DATABASE, variables or {})
    while batch := list(islice(waiting, 500)):
        for text, answer in zip(batch, spark.tables(batch), strict=True):
            _compare(score, text, answer, analyze(text, namespace, _Everything()))
    return score
