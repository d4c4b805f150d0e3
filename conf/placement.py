"""Cluster facts of one table or partition, as they are kept in its metastore parameters (D12).

Theory. Every object has a write id. A copy records the version that its source had when the copy
began. It is fresh exactly while the object has that version and no write runs. So one changed
parameter makes every copy stale (D10), and a copy that overlaps with a write is never fresh.

A running write is a mark in the *table's* parameters. So one change covers a million partitions,
writers do not remove each other's marks, and the mark of a dead writer stays. A mark covers the
partitions that it names, or all. When the write ends, the ids of what it covered change: that of
each named partition, or that of the table, which is part of its partitions' versions.

A table's `facts` id changes with the facts of any partition, so that a cache of partitions only has
to compare the table. Only `metastore.placement` and the metastore view may change facts.

A table may name the only partitions that can have a primary or copies of their own
(`causeway.partitions`), so that the others need not be read. If it names none it is `uniform`.

A partitioned table may be copied as a whole: a Hudi table, whose readers find the partitions
themselves. Then the copy is in the table's own parameters. It counts while the table is `uniform`,
because then every write changes the table's own id.

The state of an Iceberg table is its metadata file, which the parameter `metadata_location` names. A
copy has its own metadata file, with the paths of the copy's files. Both files have the same name,
which no other state of the table has. So a copy is fresh only while the names are equal, and it is
stale after a commit that left no mark.

A copy has `notes`, only for people and for sweeps: when it was made, until when it is wanted, its
files and bytes, and `missed`, the id of the first write that it misses. A write of a whole table
makes the copies of its partitions stale without changing the partitions. So the table has
`causeway.bases`: ids of its own under which partitions were copied, each with the id that followed.
Notes and bases are not compared, and no decision reads them.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from conf.bases import bases_after, with_base
from conf.names import ClusterName
from conf.partitions import Replicas

PRIMARY = "causeway.primary"
WRITE = "causeway.write"
COPY_PREFIX = "causeway.copy."
OPEN_PREFIX = "causeway.open."
FACTS = "causeway.facts"
PARTITIONS = "causeway.partitions"
BASES = "causeway.bases"
UNIFORM = "uniform"
RESERVED_PREFIX = "causeway."
METADATA = "metadata_location"  # a parameter of Iceberg's, not of Causeway's
NEVER_WRITTEN = "0"
NAMES_LIMIT = 8_000  # characters of partition names in one parameter; more count as all partitions


class BadPlacement(ValueError):
    """A `causeway.` parameter cannot be read, so the object must not be used."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A secondary copy. `of` is the version of the source that it has. `metadata` is the location
    of the copy's own metadata file if the table is Iceberg's, else empty.

    `notes` may have `at` and `until`, the epoch seconds of its publication and of the end of its
    time to live, and `files`, `bytes` and `missed`.
    """

    cluster: ClusterName
    location: str
    of: str
    notes: Mapping[str, object] = field(default_factory=dict, compare=False)
    metadata: str = ""

    def is_expired(self, now: float) -> bool:
        """Whether the copy's time to live has ended; never if it has none that is a number."""
        until = self.notes.get("until")
        return isinstance(until, int | float) and until <= now

    def missing(self, write: str, next_id: str) -> "Copy":
        """The copy after the object's own id `write` has become `next_id`: if the copy had all
        writes until then, it has the note of the first write that it misses."""
        if self.of.rpartition("/")[2] != write:
            return self
        return replace(self, notes={**self.notes, "missed": next_id})


@dataclass(frozen=True, slots=True)
class OpenWrite:
    """The mark of a running write. `since` is in epoch seconds, 0 if unknown; `by` names the
    writer.

    `partitions` are the names (`ds=1`) of the only partitions that it may change; None: all.
    `application` is the id of the Spark application that writes past the proxy, if it is known.
    """

    id: str
    since: float = 0
    by: str = ""
    partitions: frozenset[str] | None = None
    application: str = ""

    def covers(self, partition: str) -> bool:
        return self.partitions is None or partition in self.partitions


@dataclass(frozen=True, slots=True)
class Placement:
    """Primary cluster and copies of one object. The primary's location is the object's own.

    `open` are the running writes that cover the object. They and the copies are sorted by name, so
    that equal facts compare equal. A partition has its table's write id in `table_write`. Only
    tables have `facts`, which changes with the facts of any partition, and `exceptions`: the names
    of the only partitions that may have a primary or copies of their own; None: any may. A
    partition's name is added before it gets such facts. A table without exceptions is `uniform`;
    with the first exception it loses its own copies. `bases` is the text of the table's
    `causeway.bases`, for a partition too. `metadata` is the location of an Iceberg table's metadata
    file.
    """

    primary: ClusterName
    write: str = NEVER_WRITTEN
    copies: tuple[Copy, ...] = ()
    open: tuple[OpenWrite, ...] = ()
    table_write: str | None = None
    facts: str = NEVER_WRITTEN
    exceptions: frozenset[str] | None = None
    bases: str = field(default="", compare=False)
    metadata: str = ""

    @property
    def uniform(self) -> bool:
        """Whether every partition has the table's primary, and no copies but the table's."""
        return self.exceptions == frozenset()

    @property
    def writing(self) -> bool:
        return bool(self.open)

    @property
    def version(self) -> str:
        """The version of a copy that begins now. No copy may begin while `writing`."""
        return self.write if self.table_write is None else f"{self.table_write}/{self.write}"

    def is_fresh(self, copy: Copy) -> bool:
        same = _file_name(copy.metadata) == _file_name(self.metadata)
        return copy.of == self.version and same and not self.writing

    def replicas(self) -> Replicas:
        fresh = frozenset(copy.cluster for copy in self.copies if self.is_fresh(copy))
        stale = frozenset(copy.cluster for copy in self.copies) - fresh
        return Replicas(self.primary, fresh, stale)

    def copy_in(self, cluster: ClusterName) -> Copy | None:
        return next((copy for copy in self.copies if copy.cluster == cluster), None)

    def opened(
        self,
        write_id: str,
        partitions: Iterable[str] | None = None,
        *,
        since: float = 0,
        by: str = "",
    ) -> "Placement":
        """The placement with the mark of the write `write_id`, which is about to start."""
        names = None if partitions is None else bounded_names(partitions)
        marks = {each.id: each for each in self.open}
        marks[write_id] = OpenWrite(write_id, since, by, names)
        return replace(self, open=tuple(marks[key] for key in sorted(marks)))

    def closed(self, write_id: str, next_id: str) -> "Placement":
        """The placement without the mark of the write `write_id`, which has ended; `next_id` is a
        new id.

        If the mark names partitions, these must have been `rewritten` before. A missing mark counts
        as one that covered all partitions.
        """
        mark = next((each for each in self.open if each.id == write_id), None)
        others = tuple(each for each in self.open if each.id != write_id)
        if mark is not None and mark.partitions is not None:
            return replace(self, open=others)
        return replace(self, open=others).rewritten(next_id)

    def rewritten(self, next_id: str) -> "Placement":
        """The placement after a change of the data: every copy is stale. `next_id` is a new id."""
        if next_id == self.write:
            return self
        copies = tuple(copy.missing(self.write, next_id) for copy in self.copies)
        bases = self.bases
        if self.table_write is None:
            bases = bases_after(bases, self.write, next_id)
        return replace(self, write=next_id, copies=copies, bases=bases)

    def with_partition_facts(
        self, facts_id: str, exceptions: Iterable[str] | None = ()
    ) -> "Placement":
        """The table's placement with a new `facts_id`, because facts of its partitions change.

        `exceptions` are the partitions that may get a primary or copies of their own; None: any.
        """
        names = self.exceptions
        if names is not None:
            names = None if exceptions is None else bounded_names(names.union(exceptions))
        copies = () if self.uniform and names != self.exceptions else self.copies
        bases = with_base(self.bases, self.write)
        return replace(self, facts=facts_id, exceptions=names, copies=copies, bases=bases)

    def without_exceptions(self, names: Collection[str]) -> "Placement":
        """The table's placement without these exceptions, which have no facts of their own."""
        if self.exceptions is None or self.exceptions.isdisjoint(names):
            return self
        return replace(self, exceptions=self.exceptions.difference(names))

    def with_copy(self, copy: Copy) -> "Placement":
        copies = {each.cluster: each for each in self.copies}
        copies[copy.cluster] = copy
        return replace(self, copies=tuple(copies[name] for name in sorted(copies)))

    def without_copy(self, cluster: ClusterName) -> "Placement":
        return replace(self, copies=tuple(each for each in self.copies if each.cluster != cluster))


def read_placement(parameters: Mapping[str, str], owner: ClusterName) -> Placement:
    """The placement in an object's parameters. If they name no primary, it is `owner`. Raises
    BadPlacement.
    """
    copies = []
    marks = []
    for key, value in parameters.items():
        if key.startswith(COPY_PREFIX):
            copies.append(_read_copy(ClusterName(key[len(COPY_PREFIX) :]), value))
        elif key.startswith(OPEN_PREFIX):
            marks.append(_read_mark(key[len(OPEN_PREFIX) :], value))
    copies.sort(key=lambda copy: copy.cluster)
    marks.sort(key=lambda mark: mark.id)
    return Placement(
        primary=ClusterName(parameters.get(PRIMARY, owner)),
        write=parameters.get(WRITE, NEVER_WRITTEN),
        copies=tuple(copies),
        open=tuple(marks),
        facts=parameters.get(FACTS, NEVER_WRITTEN),
        exceptions=_read_exceptions(parameters.get(PARTITIONS)),
        bases=parameters.get(BASES, ""),
        metadata=parameters.get(METADATA, ""),
    )


def read_partition_placement(
    parameters: Mapping[str, str], table: Placement, name: str
) -> Placement:
    """The placement of the partition `name` (`ds=1`) of a table with the placement `table`. Raises
    BadPlacement."""
    own = read_placement(parameters, table.primary)
    marks = tuple(mark for mark in table.open if mark.covers(name))
    return replace(own, open=marks, table_write=table.write, exceptions=None, bases=table.bases)


def fresh_partition_copy(
    parameters: Mapping[str, str], table: Placement, cluster: ClusterName
) -> Copy | None:
    """The cluster's copy of a partition, if it is fresh; None also if the table has running writes.

    The result is that of `read_partition_placement`, without reading the other parameters, because
    views call this for every partition in a reply. Raises BadPlacement if the copy cannot be read.
    """
    text = parameters.get(COPY_PREFIX + cluster)
    if text is None or table.open:
        return None
    copy = _read_copy(cluster, text)
    version = f"{table.write}/{parameters.get(WRITE, NEVER_WRITTEN)}"
    return copy if copy.of == version else None


def write_placement(placement: Placement) -> dict[str, str]:
    """The placement as parameters, which replace every `causeway.` parameter of the object."""
    parameters = {PRIMARY: str(placement.primary), WRITE: placement.write}
    if placement.facts != NEVER_WRITTEN:
        parameters[FACTS] = placement.facts
    if placement.exceptions is not None:
        parameters[PARTITIONS] = exceptions_text(placement.exceptions)
    for copy in placement.copies:
        parameters[COPY_PREFIX + copy.cluster] = _copy_text(copy)
    if placement.table_write is None:
        if placement.bases:
            parameters[BASES] = placement.bases
        for mark in placement.open:
            parameters |= write_mark(mark)
    return parameters


def write_mark(mark: OpenWrite) -> dict[str, str]:
    """The mark as a parameter of the table."""
    names = None if mark.partitions is None else sorted(mark.partitions)
    own = {"application": mark.application} if mark.application else {}
    text = _json(since=mark.since, by=mark.by, partitions=names, **own)
    return {OPEN_PREFIX + mark.id: text}


def replace_placement(parameters: Mapping[str, str], placement: Placement) -> dict[str, str]:
    """An object's parameters with this placement in place of the one that they have."""
    return users_parameters(parameters) | write_placement(placement)


def rewritten_parameters(parameters: Mapping[str, str], next_id: str) -> dict[str, str]:
    """The facts of an object after a change of its data, as `Placement.rewritten`."""
    changed = {**parameters, WRITE: next_id}
    write = parameters.get(WRITE, NEVER_WRITTEN)
    for key, text in parameters.items():
        if key.startswith(COPY_PREFIX):
            copy = _read_copy(ClusterName(key[len(COPY_PREFIX) :]), text)
            changed[key] = _copy_text(copy.missing(write, next_id))
    if BASES in parameters:
        changed[BASES] = bases_after(parameters[BASES], write, next_id)
    return changed


def users_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters without Causeway's own."""
    return {key: value for key, value in parameters.items() if not key.startswith(RESERVED_PREFIX)}


def bounded_names(names: Iterable[str]) -> frozenset[str] | None:
    """The names as a set; None, which means all, if they are too long for a parameter."""
    distinct = frozenset(names)
    return distinct if sum(map(len, distinct)) <= NAMES_LIMIT else None


def exceptions_text(names: frozenset[str]) -> str:
    """The value of `causeway.partitions` that names these exceptions."""
    return json.dumps(sorted(names), separators=(",", ":")) if names else UNIFORM


def _read_exceptions(text: str | None) -> frozenset[str] | None:
    if text is None or text == UNIFORM:
        return None if text is None else frozenset()
    try:
        names = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPlacement(f"unreadable {PARTITIONS}: {text!r}") from error
    if not isinstance(names, list):
        raise BadPlacement(f"unreadable {PARTITIONS}: {text!r}")
    return frozenset(map(str, names))


def _file_name(location: str) -> str:
    return location.rpartition("/")[2]


def _json(**values: object) -> str:
    return json.dumps(values, separators=(",", ":"))


def _copy_text(copy: Copy) -> str:
    values = {**copy.notes, "location": copy.location, "of": copy.of, "metadata": copy.metadata}
    return _json(**{key: value for key, value in values.items() if value or key != "metadata"})


def _read_copy(cluster: ClusterName, text: str) -> Copy:
    try:
        value = json.loads(text)
        location, of = str(value["location"]), str(value["of"])
        return Copy(cluster, location, of, value, str(value.get("metadata", "")))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadPlacement(f"unreadable {COPY_PREFIX}{cluster}: {text!r}") from error


def _read_mark(write_id: str, text: str) -> OpenWrite:
    try:
        value = json.loads(text)
        names = value["partitions"]
        partitions = None if names is None else frozenset(str(name) for name in names)
        since = value["since"]
        seconds = since if isinstance(since, float) else int(since)
        application = str(value.get("application", ""))
        return OpenWrite(write_id, seconds, str(value["by"]), partitions, application)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadPlacement(f"unreadable {OPEN_PREFIX}{write_id}: {text!r}") from error
