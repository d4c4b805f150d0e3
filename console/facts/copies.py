"""A copy that the console may start. Pure."""

from dataclasses import dataclass

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from conf.topology import Topology
from console.errors import Refused
from router.needed_copies import Spec, copy_statement


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a table, or of some of its partitions, from the primary to another cluster."""

    table: TableRef
    source: ClusterName
    target: ClusterName
    partitions: tuple[Spec, ...] = ()

    @property
    def sql(self) -> str:
        """The statement that makes the copy (docs/reference/sql.md)."""
        return copy_statement(self.table, self.partitions, self.source, self.target)

    @property
    def partition_names(self) -> str:
        """The names of the partitions with Hive's escapes, one for each line; empty for the whole
        table."""
        return "\n".join(map(partition_name, self.partitions))

    @property
    def title(self) -> str:
        """The copy's title in lists."""
        named = f" {len(self.partitions)} partitions"
        if len(self.partitions) < 2:
            named = "".join(f" {key}={value}" for spec in self.partitions for key, value in spec)
        return f"{self.table}{named} to {self.target}"


def copy_of(form: dict[str, str], topology: Topology) -> Copy:
    """The copy that a form describes. Raises Refused for invalid names."""
    try:
        table = TableRef.parse(form.get("table", ""))
        lines = (line.removesuffix("\r") for line in form.get("partitions", "").split("\n"))
        partitions = tuple(parse_partition_name(line) for line in lines if line)
    except ValueError as error:
        raise Refused(str(error)) from None
    source, target = form.get("source", ""), form.get("target", "")
    for each in (source, target):
        if each not in topology:
            raise Refused(f"There is no cluster {each!r}.")
    return Copy(table, ClusterName(source), ClusterName(target), partitions)
