"""Takes over the finished files of interrupted runs, except those of copies that were replaced."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Clock, open_markers
from pipeline.copy.runs.staging import (
    OPEN,
    RETIRED,
    RunMarker,
    marker_path,
    object_path,
    this_machine,
)
from pipeline.copy.runs.sweep import Used


@dataclass(frozen=True, slots=True)
class _Interrupted:
    """The markers of interrupted runs, and their directories by the object's directory in this run,
    the newest first.
    """

    markers: Mapping[str, RunMarker]
    directories: Mapping[str, Sequence[str]]


def take_over(
    files: Files, staging: str, own: RunMarker, targets: Mapping[str, str], used: Used, clock: Clock
) -> int:
    """Moves the directories that interrupted runs have of some objects into this run. `targets` are
    the objects' directories in this run, by name. Returns the number of moved directories.

    The marker of an interrupted run is changed first, so that a run that only seemed interrupted
    publishes nothing. Directories that are in use, or that a reader may still use, stay.
    """
    found = _interrupted(files, staging, own, targets, used, clock)
    newest = {sources[0]: target for target, sources in found.directories.items()}
    _mark(files, staging, own, found.markers, newest)
    return len(files.move(newest))


def take_over_objects(
    files: Files, staging: str, own: RunMarker, targets: Mapping[str, str], used: Used, clock: Clock
) -> Mapping[str, Sequence[str]]:
    """`take_over` in an object store, where a directory cannot be moved in one step. Returns the
    directories of interrupted runs by the object's directory in this run, the newest first.
    """
    found = _interrupted(files, staging, own, targets, used, clock)
    taken = [source for sources in found.directories.values() for source in sources]
    _mark(files, staging, own, found.markers, taken)
    return found.directories


def _interrupted(
    files: Files, staging: str, own: RunMarker, targets: Mapping[str, str], used: Used, clock: Clock
) -> _Interrupted:
    machine, now = this_machine(), clock()
    interrupted = {
        name: marker
        for name, marker in open_markers(files, staging).items()
        if name != own.run and marker is not None and not marker.is_alive(now, machine)
    }
    folders = files.folders([f"{staging}/{name}" for name in interrupted])
    found: list[tuple[str, str]] = []
    for name, children in zip(interrupted, folders, strict=True):
        wanted = {object_path(staging, name, each): target for each, target in targets.items()}
        present = {f"{staging}/{name}/{child}" for child in children}
        found += [(source, target) for source, target in wanted.items() if source in present]
    retired = files.read_markers([_retired_path(staging, source) for source, _ in found])
    found = [each for each, text in zip(found, retired, strict=True) if text is None]
    in_use = used(own) if found else frozenset()
    directories: dict[str, list[str]] = {}
    for source, target in found:
        if source not in in_use:
            directories.setdefault(target, []).append(source)
    return _Interrupted(interrupted, directories)


def _mark(
    files: Files,
    staging: str,
    own: RunMarker,
    markers: Mapping[str, RunMarker],
    taken: Iterable[str],
) -> None:
    """Records in the markers of the interrupted runs that this run has taken their directories."""
    for name in {source.removeprefix(f"{staging}/").split("/")[0] for source in taken}:
        files.write_marker(marker_path(staging, name), markers[name].as_taken(own.run).to_text())


def retire(files: Files, staging: str, locations: Iterable[str | None]) -> None:
    """Records that these directories are being replaced, so that no run takes them over: readers
    may still use them. Directories of runs that are not open need no record.
    """
    below = [each for each in locations if each and each.startswith(f"{staging}/")]
    open_runs = set(files.children(f"{staging}/{OPEN}")) if below else set()
    for location in below:
        if location.removeprefix(f"{staging}/").partition("/")[0] in open_runs:
            files.write_marker(_retired_path(staging, location), "")


def _retired_path(staging: str, location: str) -> str:
    """The file that says that a directory of a run was replaced."""
    run, _, name = location.removeprefix(f"{staging}/").partition("/")
    return f"{staging}/{run}/{RETIRED}/{name}"
