"""A table or view as Spark's catalog has it, for SHOW and DESCRIBE."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conf.names import TableRef


@dataclass(frozen=True, slots=True)
class SparkColumn:
    """`simple` is the type as DESCRIBE shows it, `tree` its lines of a printed schema without
    their common prefix, `sql` the type in a DDL text, None where that is not certain. `comment` and
    `default`, an expression, are None where it has none. `statistics` are by Spark's names."""

    name: str
    simple: str
    tree: tuple[str, ...]
    sql: str | None
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    statistics: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether `simple` is the whole type: DESCRIBE shows the first 25 fields of a struct."""
        return " more fields" not in self.simple


@dataclass(frozen=True, slots=True)
class Buckets:
    count: int
    columns: tuple[str, ...]
    sorted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkView:
    """`namespace` are the parts of the name under which the names of its query are looked up,
    `produced` the names of the query's columns."""

    text: str
    original: str
    namespace: tuple[str, ...]
    produced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkStorage:
    """`properties` are in Spark's order if `is_ordered`. `location` is None where the text that
    Spark makes of it is not certain."""

    location: str | None
    serde: str
    input_format: str
    output_format: str
    compressed: bool
    properties: tuple[tuple[str, str], ...]
    is_ordered: bool


@dataclass(frozen=True, slots=True)
class SparkDatabase:
    """A database as Spark's catalog has it. `location` is None where its text is not certain."""

    name: str
    comment: str
    location: str | None
    owner: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SparkTable:
    """`columns` are all columns, `partition_columns` the names of the last ones.

    `created` and `accessed` are Unix time in seconds. `kind` is MANAGED, EXTERNAL or VIEW. `copies`
    are the names of the clusters that have a copy: they may see another location. `storage` is
    None where it is not certain what Spark shows of it, and `statistics` is empty without any.
    """

    ref: TableRef
    columns: tuple[SparkColumn, ...]
    partition_columns: tuple[str, ...]
    owner: str
    created: int
    accessed: int
    version: str
    kind: str
    provider: str | None
    buckets: Buckets | None
    comment: str | None
    view: SparkView | None
    properties: Mapping[str, str]
    statistics: str
    storage: SparkStorage | None
    partitions_in_catalog: bool
    copies: frozenset[str]
