"""Cluster facts of one table or partition, as kept in its metastore parameters (D12).

A write gives its object a new write id before it starts (`opened`, the id ends in `+`) and
another when it ends (`closed`). A copy remembers the id that its source had when the copy
began, so it is fresh exactly while the object still has that id: one parameter change makes
every copy stale (D10), and a copy that raced with a write is stale from birth.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from conf.names import ClusterName
from conf.partitions import Holders

PRIMARY = "causeway.primary"
WRITE = "causeway.write"
COPY_PREFIX = "causeway.copy."
RESERVED_PREFIX = "causeway."
NEVER_WRITTEN = "0"


class BadPlacement(ValueError):
    """A `causeway.` parameter that cannot be read; the object must not be used."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A secondary copy. `of` is the write id of the source that it holds."""

    cluster: ClusterName
    location: str
    of: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Primary cluster and copies of one object. The primary's location is the object's own."""

    primary: ClusterName
    write: str = NEVER_WRITTEN
    copies: tuple[Copy, ...] = ()

    @property
    def writing(self) -> bool:
        return self.write.endswith("+")

    def is_fresh(self, copy: Copy) -> bool:
        return copy.of == self.write and not self.writing

    def holders(self) -> Holders:
        fresh = frozenset(copy.cluster for copy in self.copies if self.is_fresh(copy))
        stale = frozenset(copy.cluster for copy in self.copies) - fresh
        return Holders(self.primary, fresh, stale)

    def copy_in(self, cluster: ClusterName) -> Copy | None:
        return next((copy for copy in self.copies if copy.cluster == cluster), None)

    def opened(self, write_id: str) -> "Placement":
        """A write named `write_id` is about to start."""
        return replace(self, write=f"{write_id}+")

    def closed(self, write_id: str, next_id: str) -> "Placement":
        """The write named `write_id` ended; `next_id` is a fresh id.

        Another write's open mark stays: that one closes it.
        """
        if self.writing and self.write != f"{write_id}+":
            return self
        return replace(self, write=next_id)

    def with_copy(self, copy: Copy) -> "Placement":
        others = tuple(each for each in self.copies if each.cluster != copy.cluster)
        return replace(self, copies=(*others, copy))

    def without_copy(self, cluster: ClusterName) -> "Placement":
        return replace(self, copies=tuple(each for each in self.copies if each.cluster != cluster))


def read_placement(parameters: Mapping[str, str], owner: ClusterName) -> Placement:
    """The placement in an object's parameters; `owner` is the primary when none is named.

    For a partition `owner` is its table's primary, for a table the default cluster.
    Raises BadPlacement.
    """
    copies = []
    for key, value in parameters.items():
        if key.startswith(COPY_PREFIX):
            copies.append(_read_copy(ClusterName(key[len(COPY_PREFIX) :]), value))
    copies.sort(key=lambda copy: copy.cluster)
    return Placement(
        primary=ClusterName(parameters.get(PRIMARY, owner)),
        write=parameters.get(WRITE, NEVER_WRITTEN),
        copies=tuple(copies),
    )


def write_placement(placement: Placement) -> dict[str, str]:
    """The parameters that say the placement; replaces every `causeway.` one of the object."""
    parameters = {PRIMARY: str(placement.primary), WRITE: placement.write}
    for copy in placement.copies:
        text = json.dumps({"location": copy.location, "of": copy.of}, separators=(",", ":"))
        parameters[COPY_PREFIX + copy.cluster] = text
    return parameters


def _read_copy(cluster: ClusterName, text: str) -> Copy:
    try:
        value = json.loads(text)
        return Copy(cluster, str(value["location"]), str(value["of"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadPlacement(f"unreadable {COPY_PREFIX}{cluster}: {text!r}") from error
