"""Refuses requests with locations in the file systems of other clusters (DC-M4).

The metastore itself creates, moves and deletes the folders of tables and partitions, in every file
system. So a drop of an object whose folder is in another cluster would delete that cluster's files.
"""

from collections.abc import Iterator

from conf.locations import Location, readings
from metastore.client.object_spans import ObjectSpans
from metastore.view.call import Call
from metastore.view.errors import OutsidePrimary
from metastore.view.locations import ClusterView
from thriftcodec.skip import EACH, Path, text_at

# PartitionSpec: its root, the shared descriptor's location, and the partitions' relative paths.
_SPECS_ROOT: Path = (1, EACH, 3)
_SPECS_SHARED: Path = (1, EACH, 4, 2, 2)
_SPECS_RELATIVE: Path = (1, EACH, 4, 1, EACH, 4)


def refuse_elsewhere(call: Call, spans: ObjectSpans, view: ClusterView, *present: str) -> None:
    """Raises OutsidePrimary if an object in a request has a location in another cluster's file
    system. A location that is, or is below, one of its `present` ones is accepted.
    """
    for span in (spans.location, spans.path):
        if span is not None:
            refuse_location(text_at(call.data, span[0]), view, *present)


def refuse_location(location: str, view: ClusterView, *present: str) -> None:
    """As `refuse_elsewhere`, for one location. An empty one is accepted: the metastore chooses."""
    owner = view.foreign_cluster(location) if location else None
    if owner is None or any(_is_below(location, each) for each in present if each):
        return
    raise OutsidePrimary(
        f"The primary cluster of folder {location} is {owner}, which is different from the"
        f" processing cluster {view.cluster}: it can be changed only in {owner}."
    )


def refuse_database_folder(database: str, location: str, home: str, view: ClusterView) -> None:
    """Raises OutsidePrimary if a DROP DATABASE would delete a folder of another cluster.

    The metastore deletes the folder with everything in it. A folder with the database's name in
    the warehouse at `home` contains only the database; a folder that was chosen with LOCATION may
    contain anything.
    """
    if Location.of(location) != Location.of(f"{home}/{database.lower()}.db"):
        refuse_location(location, view)


def _is_below(location: str, folder: str) -> bool:
    """Whether the location is in the folder, however its text is read."""
    around = Location.of(folder)
    return location == folder or all(each.is_inside(around) for each in readings(location))


def locations_of_specs(call: Call) -> Iterator[str]:
    """The locations of the partitions in an add_partitions_pspec; none for any other call."""
    if call.spec.name != "add_partitions_pspec":
        return
    roots = call.strings(_SPECS_ROOT) + call.strings(_SPECS_SHARED)
    for root in roots:
        yield root
        for relative in call.strings(_SPECS_RELATIVE):
            yield f"{root}/{relative}"
