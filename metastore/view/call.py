"""One request, and what can be read from it by its row of the methods table."""

from collections.abc import Iterator
from dataclasses import dataclass

from conf.names import TableRef
from metastore.client.object_spans import Found, Path, places, scan, string_list, strings_at, text
from metastore.view.methods import MethodSpec, Place
from thriftcodec.values import BOOL, LIST, STRING, STRUCT


@dataclass(frozen=True, slots=True)
class Call:
    """One request: `data` is the whole message, its arguments begin at `body`."""

    spec: MethodSpec
    sequence: int
    data: bytes
    body: int

    def named(self) -> list[tuple[str, str]]:
        """(database, table) as the client wrote them, each once."""
        pairs: list[tuple[str, str]] = []
        for database, table in zip(self.spec.databases, self.spec.tables, strict=True):
            pairs += zip(self.strings(database), self.strings(table), strict=False)
        return list(dict.fromkeys(pairs))

    def tables(self) -> tuple[TableRef, ...]:
        """The tables that the call names."""
        return tuple(dict.fromkeys(ref_of(*names) for names in self.named()))

    def strings(self, path: Path) -> list[str]:
        return strings_at(self.data, self.body, path)

    def is_true(self, path: Path) -> bool:
        return any(self.data[at] for at, kind in places(self.data, self.body, path) if kind == BOOL)

    def sent(self, place: Place) -> Iterator[Found]:
        """The objects of one place."""
        for at, kind in places(self.data, self.body, place.path):
            if kind == STRUCT:
                yield scan(self.data, at, place.shape)

    def field_text(self, found: Found, number: int) -> str:
        """A string field of an object that was sent; empty when there is none."""
        span = found.fields.get(number)
        return text(self.data, span[0]) if span else ""

    def partition_values(self) -> list[list[str]]:
        """The values of the partitions that are named by values."""
        if self.spec.values is None:
            return []
        found = places(self.data, self.body, self.spec.values)
        return [string_list(self.data, at) for at, kind in found if kind == LIST]

    def partition_names(self) -> list[str]:
        """The names of the partitions that are named by name."""
        if self.spec.partition_name is None:
            return []
        found = places(self.data, self.body, self.spec.partition_name)
        return [text(self.data, at) for at, kind in found if kind == STRING]


def ref_of(database: str, table: str) -> TableRef:
    """The noun for names as a client writes them; Hive 3 puts `@catalog#` before a database."""
    if database.startswith("@"):
        database = database.partition("#")[2]
    return TableRef(database.strip().lower(), table.strip().lower())
