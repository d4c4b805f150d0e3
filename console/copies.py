"""The statement that copies a table, and what a copy is about. Pure."""

from dataclasses import dataclass

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from conf.topology import Topology
from console.errors import Refused


@dataclass(frozen=True, slots=True)
class Copy:
    """A table, or the partitions with these values, from its primary to another cluster."""

    table: TableRef
    source: ClusterName
    target: ClusterName
    partition: tuple[tuple[str, str], ...] = ()

    @property
    def sql(self) -> str:
        """The statement that makes the copy (docs/reference/sql.md)."""
        values = ", ".join(f"{_name(key)} = {_text(value)}" for key, value in self.partition)
        part = f" PARTITION ({values})" if values else ""
        names = f"{_name(self.table.db)}.{_name(self.table.name)}"
        return f"ALTER TABLE {names}{part} COPY {_name(self.source)} TO {_name(self.target)}"

    @property
    def partition_name(self) -> str:
        """The name of the partition, as Hive escapes it; empty for the whole table."""
        return partition_name(self.partition)

    @property
    def title(self) -> str:
        named = "".join(f" {key}={value}" for key, value in self.partition)
        return f"{self.table}{named} to {self.target}"


def copy_of(form: dict[str, str], topology: Topology) -> Copy:
    """The copy that a form describes. Raises Refused for names that cannot be."""
    try:
        table = TableRef.parse(form.get("table", ""))
    except ValueError as error:
        raise Refused(str(error)) from None
    source, target = form.get("source", ""), form.get("target", "")
    for each in (source, target):
        if each not in topology:
            raise Refused(f"There is no cluster {each!r}.")
    return Copy(table, ClusterName(source), ClusterName(target), _partition(form))


def _partition(form: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The values in the name of a partition; none for the whole table. Raises Refused."""
    name = form.get("partition", "")
    try:
        return parse_partition_name(name) if name else ()
    except ValueError as error:
        raise Refused(str(error)) from None


def _name(text: str) -> str:
    """A quoted name; backquotes in it are doubled."""
    return "`" + text.replace("`", "``") + "`"


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
