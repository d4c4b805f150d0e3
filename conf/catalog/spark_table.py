"""A table or view as Spark's catalog has it, for SHOW and DESCRIBE."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conf.names import TableRef


@dataclass(frozen=True, slots=True)
class SparkColumn:
    """A column. `simple` is the type as DESCRIBE shows it; `tree` are the type's lines in a printed
    schema, without their common prefix; `sql` is the type in a DDL text, None if that is not
    certain. `comment` and `default`, which is an expression, are None if it has none. `statistics`
    have Spark's names."""

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
    """The text of a view. Names in its query are looked up in `namespace`, given as the parts of
    its name. `produced` are the names of the query's columns."""

    text: str
    original: str
    namespace: tuple[str, ...]
    produced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkStorage:
    """The storage of a table. `properties` are in Spark's order if `is_ordered`. `location` is None
    if the text that Spark shows is not certain."""

    location: str | None
    serde: str
    input_format: str
    output_format: str
    compressed: bool
    properties: tuple[tuple[str, str], ...]
    is_ordered: bool


@dataclass(frozen=True, slots=True)
class SparkDatabase:
    """A database as Spark's catalog has it. `location` is None if its text is not certain."""

    name: str
    comment: str
    location: str | None
    owner: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table or view. `columns` are all columns, `partition_columns` the names of the last ones.

    `created` and `accessed` are epoch seconds. `kind` is MANAGED, EXTERNAL or VIEW. `copies` are
    the clusters with a copy, which may see another location. `storage` is None if it is not certain
    how Spark shows it. `statistics` is empty if there are none.
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
