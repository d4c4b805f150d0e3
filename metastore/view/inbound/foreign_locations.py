"""Refuses locations that an object may not get: folders of other clusters (DC-M4).

The metastore itself makes, moves and deletes the folders of tables and partitions, in every file
system. So an object in another cluster's folder would have these files deleted as it is dropped.
"""

from collections.abc import Iterator

from conf.locations import Location, readings
from metastore.client.object_spans import EACH, Found, Path, text
from metastore.view.call import Call
from metastore.view.errors import OutsidePrimary
from metastore.view.locations import ClusterView

# PartitionSpec: its root, and of partitions with one descriptor that and their relative paths.
_SPECS_ROOT: Path = (1, EACH, 3)
_SPECS_SHARED: Path = (1, EACH, 4, 2, 2)
_SPECS_RELATIVE: Path = (1, EACH, 4, 1, EACH, 4)


def refuse_elsewhere(call: Call, found: Found, view: ClusterView, *present: str) -> None:
    """Raises OutsidePrimary where an object that was sent has a location in another cluster's file
    system, unless it is one of its `present` locations or lies below.
    """
    for span in (found.location, found.path):
        if span is not None:
            refuse_location(text(call.data, span[0]), view, *present)


def refuse_location(location: str, view: ClusterView, *present: str) -> None:
    """The same of one location. An empty one is the metastore's to choose."""
    owner = view.foreign_cluster(location) if location else None
    if owner is None or any(_is_below(location, each) for each in present if each):
        return
    raise OutsidePrimary(
        f"The primary cluster of folder {location} is {owner}, which is different from the"
        f" processing cluster {view.cluster}: it can be changed only in {owner}."
    )


def refuse_database_folder(database: str, location: str, home: str, view: ClusterView) -> None:
    """Raises OutsidePrimary where a DROP DATABASE would delete a folder of another cluster.

    The metastore deletes the folder with all that is in it, in the default cluster. A folder with
    the database's name in the warehouse, which is at `home`, is the database's alone; one that a
    LOCATION chose may hold anything.
    """
    if Location.of(location) != Location.of(f"{home}/{database.lower()}.db"):
        refuse_location(location, view)


def _is_below(location: str, folder: str) -> bool:
    """Whether every reading of a location is in a folder."""
    around = Location.of(folder)
    return location == folder or all(each.is_inside(around) for each in readings(location))


def locations_of_specs(call: Call) -> Iterator[str]:
    """Where the partitions of an add_partitions_pspec lie."""
    if call.spec.name != "add_partitions_pspec":
        return
    roots = call.strings(_SPECS_ROOT) + call.strings(_SPECS_SHARED)
    for root in roots:
        yield root
        for relative in call.strings(_SPECS_RELATIVE):
            yield f"{root}/{relative}"
