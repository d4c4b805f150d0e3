"""What a run leaves to the next one: finished files of an interrupted run, and replaced copies."""

import json
from collections.abc import Mapping, Sequence

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, run_markers
from pipeline.copy.staging import (
    RETIRED,
    RunMarker,
    is_run,
    marker_path,
    object_path,
    this_machine,
)
from pipeline.copy.sweep import Used


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
        for name, marker in run_markers(files, staging).items()
        if name != own.run and marker is not None and not marker.is_alive(now, machine)
    }
    runs = [f"{staging}/{name}" for name in interrupted]
    retired = files.read_markers([f"{run}/{RETIRED}" for run in runs])
    moves: list[tuple[str, str]] = []
    for name, children, text in zip(interrupted, files.folders(runs), retired, strict=True):
        present = {f"{staging}/{name}/{child}" for child in set(children) - read_retired(text)}
        wanted = {object_path(staging, name, each): target for each, target in targets.items()}
        moves += [(source, target) for source, target in wanted.items() if source in present]
    if not moves:
        return 0
    in_use = used(own)
    newest = {target: source for source, target in reversed(moves) if source not in in_use}
    for name in {source.removeprefix(f"{staging}/").split("/")[0] for source in newest.values()}:
        files.write_marker(
            marker_path(staging, name), interrupted[name].as_taken(own.run).to_text()
        )
    return len(files.move({source: target for target, source in newest.items()}))


def retire(files: Files, staging: str, locations: Sequence[str | None]) -> None:
    """Records, in markers of their runs, that these directories are being replaced. Readers may
    use them, so they wait for a sweep and are not taken over.
    """
    by_run: dict[str, set[str]] = {}
    for location in locations:
        run, slash, name = (location or "").removeprefix(f"{staging}/").partition("/")
        if slash and is_run(run):
            by_run.setdefault(run, set()).add(name)
    texts = files.read_markers([f"{staging}/{run}/{RETIRED}" for run in by_run])
    for (run, names), text in zip(by_run.items(), texts, strict=True):
        known = read_retired(text)
        if not names <= known:
            files.write_marker(f"{staging}/{run}/{RETIRED}", json.dumps(sorted(known | names)))


def read_retired(text: str | None) -> frozenset[str]:
    """The directories of a run that were replaced."""
    return frozenset(json.loads(text)) if text else frozenset()
