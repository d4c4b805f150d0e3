"""The metastore's objects, with names for the fields that Causeway reads or writes.

Each class wraps a `Struct` and changes it in place, so the struct keeps all other fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conf.names import TableRef, partition_name
from thriftcodec.values import BOOL, I32, LIST, MAP, STRING, STRUCT, Items, Pairs, Struct
from thriftcodec.values import string_map as to_map
from thriftcodec.values import strings as to_list

Columns = Sequence[tuple[str, str]]  # (name, type) pairs


class ThriftObject:
    """A `Struct` with named fields; equal if the structs are."""

    __slots__ = ("struct",)
    PARAMETERS = 0

    def __init__(self, struct: Struct | None = None) -> None:
        self.struct = struct if struct is not None else Struct()

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and isinstance(other, ThriftObject)
            and self.struct == other.struct
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.struct!r})"

    @property
    def parameters(self) -> dict[str, str]:
        """A copy of the object's parameters; assign to change them."""
        return dict(self.struct.get(self.PARAMETERS) or {})

    @parameters.setter
    def parameters(self, value: Mapping[str, str]) -> None:
        self.struct.set(self.PARAMETERS, MAP, to_map(value))

    def text(self, field: int) -> str:
        return str(self.struct.get(field) or "")

    def set_text(self, field: int, value: str) -> None:
        self.struct.set(field, STRING, value)


class Storage(ThriftObject):
    """StorageDescriptor: location, format and columns of the data."""

    __slots__ = ()
    PARAMETERS = 10

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return read_columns(self.struct.get(1))

    @columns.setter
    def columns(self, value: Columns) -> None:
        self.struct.set(1, LIST, write_columns(value))

    @property
    def location(self) -> str:
        return self.text(2)

    @location.setter
    def location(self, value: str) -> None:
        self.set_text(2, value)

    @property
    def input_format(self) -> str:
        return self.text(3)

    @property
    def output_format(self) -> str:
        return self.text(4)

    @property
    def is_skewed(self) -> bool:
        """Whether Hive keeps some values of a column in folders of their own."""
        skewed = self.struct.get(11)
        return skewed is not None and bool(skewed.get(1))

    @property
    def serde(self) -> "Serde":
        """The serde's struct, created if it is missing."""
        if self.struct.get(7) is None:
            self.struct.set(7, STRUCT, Struct())
        return Serde(self.struct.get(7))


class Serde(ThriftObject):
    """SerDeInfo. Spark keeps a data source's location in its parameter `path`."""

    __slots__ = ()
    PARAMETERS = 3

    @property
    def library(self) -> str:
        return self.text(2)


class Stored(ThriftObject):
    """The common part of tables and partitions: a storage descriptor and parameters."""

    __slots__ = ()
    STORAGE = 0

    @property
    def storage(self) -> Storage:
        """The storage descriptor, created if it is missing."""
        if self.struct.get(self.STORAGE) is None:
            self.struct.set(self.STORAGE, STRUCT, Struct())
        return Storage(self.struct.get(self.STORAGE))

    @property
    def location(self) -> str:
        return self.storage.location

    @location.setter
    def location(self, value: str) -> None:
        self.storage.location = value


class Table(Stored):
    """Table or view."""

    __slots__ = ()
    STORAGE = 7
    PARAMETERS = 9

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders in which its files may be, without those of partitions: its location, and the
        `path` of a data source."""
        both = self.location, self.storage.serde.parameters.get("path", "")
        return tuple(dict.fromkeys(filter(None, both)))

    @classmethod
    def make(
        cls,
        ref: TableRef,
        columns: Columns,
        *,
        location: str = "",
        partition_keys: Columns = (),
        parameters: Mapping[str, str] | None = None,
        kind: str = "MANAGED_TABLE",
        owner: str = "",
        storage: Struct | None = None,
    ) -> "Table":
        """A new table; `storage` has the formats, text by default."""
        table = cls()
        table.set_text(1, ref.name)
        table.set_text(2, ref.db)
        table.set_text(3, owner)
        table.struct.set(7, STRUCT, storage if storage is not None else text_storage())
        table.storage.columns = columns
        if location:
            table.location = location
        table.struct.set(8, LIST, write_columns(partition_keys))
        table.parameters = parameters or {}
        table.set_text(12, kind)
        return table

    @property
    def ref(self) -> TableRef:
        return TableRef(self.text(2), self.text(1))

    @property
    def kind(self) -> str:
        """MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW, MATERIALIZED_VIEW or INDEX_TABLE."""
        return self.text(12)

    @property
    def owner(self) -> str:
        return self.text(3)

    @property
    def partition_keys(self) -> tuple[tuple[str, str], ...]:
        return read_columns(self.struct.get(8))

    @property
    def view_text(self) -> str:
        """A view's query: the expanded text if there is one."""
        return self.text(11) or self.text(10)


class Partition(Stored):
    __slots__ = ()
    STORAGE = 6
    PARAMETERS = 7

    @classmethod
    def make(
        cls, table: Table, values: Sequence[str], location: str, parameters: Mapping[str, str]
    ) -> "Partition":
        """A new partition of `table` with the table's formats."""
        partition = cls()
        partition.struct.set(1, LIST, to_list(values))
        partition.set_text(2, table.ref.db)
        partition.set_text(3, table.ref.name)
        partition.struct.set(6, STRUCT, Struct(table.storage.struct.fields))
        partition.location = location
        partition.parameters = parameters
        return partition

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self.struct.get(1) or ())

    def name(self, table: Table) -> str:
        """The partition's name, `k=v/k2=v2`, with the keys of its table."""
        keys = (key for key, _ in table.partition_keys)
        return partition_name(zip(keys, self.values, strict=True))


class Database(ThriftObject):
    __slots__ = ()
    PARAMETERS = 4

    @classmethod
    def make(cls, name: str, location: str = "", description: str = "") -> "Database":
        database = cls()
        database.set_text(1, name)
        database.set_text(2, description)
        if location:
            database.location = location
        database.parameters = {}
        return database

    @property
    def name(self) -> str:
        return self.text(1)

    @property
    def location(self) -> str:
        return self.text(3)

    @location.setter
    def location(self, value: str) -> None:
        self.set_text(3, value)


class Event(ThriftObject):
    """One entry of the notification log."""

    __slots__ = ()

    @property
    def id(self) -> int:
        return int(self.struct.get(1))

    @property
    def type(self) -> str:
        return self.text(3)

    @property
    def table(self) -> TableRef | None:
        """The table of the event; None for events of databases and others."""
        name = self.text(5)
        return TableRef(self.text(4).lower(), name.lower()) if name else None


def read_columns(items: Items | None) -> tuple[tuple[str, str], ...]:
    return tuple((str(each.get(1)), str(each.get(2))) for each in items or ())


def write_columns(columns: Columns) -> Items:
    return Items(STRUCT, (Struct({1: (STRING, name), 2: (STRING, kind)}) for name, kind in columns))


def environment(properties: Mapping[str, str]) -> Struct:
    """EnvironmentContext."""
    return Struct({1: (MAP, to_map(properties))})


def text_storage() -> Struct:
    """The storage of a Hive text table."""
    package = "org.apache.hadoop.hive"
    serde = Struct(
        {
            2: (STRING, f"{package}.serde2.lazy.LazySimpleSerDe"),
            3: (MAP, to_map({"serialization.format": "1"})),
        }
    )
    return Struct(
        {
            1: (LIST, Items(STRUCT)),
            3: (STRING, "org.apache.hadoop.mapred.TextInputFormat"),
            4: (STRING, f"{package}.ql.io.HiveIgnoreKeyTextOutputFormat"),
            5: (BOOL, 0),
            6: (I32, -1),
            7: (STRUCT, serde),
            8: (LIST, Items(STRING)),
            9: (LIST, Items(STRUCT)),
            10: (MAP, Pairs(STRING, STRING)),
        }
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes since a position. `position` is the one to pass to the next call.

    `tables` are `db.table`, or `db.*` for a whole database. `everything`: any table may have
    changed, because the caller is new, too late, or has a position of another process. `feed` is
    the id of the view's feed, which all views of its process have; older views have none.
    """

    position: int
    tables: tuple[str, ...] = ()
    everything: bool = False
    feed: str = ""

    @classmethod
    def read(cls, struct: Struct) -> "Changes":
        """The result of causeway_changes and causeway_touched."""
        return cls(
            int(struct.get(1)),
            tuple(struct.get(2) or ()),
            bool(struct.get(3)),
            str(struct.get(4) or ""),
        )
