"""What a run leaves to the next one: finished files of an interrupted run, and replaced copies."""

from collections.abc import Iterable, Mapping

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


def take_over(
    files: Files, staging: str, own: RunMarker, targets: Mapping[str, str], used: Used, clock: Clock
) -> int:
    """Moves the directories that interrupted runs have of these objects (name to new directory)
    into the own run. Returns how many were moved.

    The marker of an interrupted run is changed first, so that a run that only seemed interrupted
    publishes nothing. Directories that are in use, or that a reader may still use, stay.
    """
    machine, now = this_machine(), clock()
    interrupted = {
        name: marker
        for name, marker in open_markers(files, staging).items()
        if name != own.run and marker is not None and not marker.is_alive(now, machine)
    }
    folders = files.folders([f"{staging}/{name}" for name in interrupted])
    moves: list[tuple[str, str]] = []
    for name, children in zip(interrupted, folders, strict=True):
        wanted = {object_path(staging, name, each): target for each, target in targets.items()}
        present = {f"{staging}/{name}/{child}" for child in children}
        moves += [(source, target) for source, target in wanted.items() if source in present]
    retired = files.read_markers([_retired_path(staging, source) for source, _ in moves])
    moves = [move for move, text in zip(moves, retired, strict=True) if text is None]
    if not moves:
        return 0
    in_use = used(own)
    newest = {target: source for source, target in reversed(moves) if source not in in_use}
    for name in {source.removeprefix(f"{staging}/").split("/")[0] for source in newest.values()}:
        files.write_marker(
            marker_path(staging, name), interrupted[name].as_taken(own.run).to_text()
        )
    return len(files.move({source: target for target, source in newest.items()}))


def retire(files: Files, staging: str, locations: Iterable[str | None]) -> None:
    """Records that these directories are being replaced, so that no run takes them over: readers
    may still use them, and they wait for a sweep. Only open runs are ever taken over.
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
