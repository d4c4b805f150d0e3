"""What one run leaves to the next: directories of the dead, and those that were replaced."""

import json
from collections.abc import Mapping, Sequence

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, run_markers
from pipeline.copy.staging import RETIRED, RunMarker, is_run, marker_path, object_path, this_machine
from pipeline.copy.sweep import Used


def take_over(
    files: Files, staging: str, own: RunMarker, targets: Mapping[str, str], used: Used, clock: Clock
) -> int:
    """Moves what dead runs have of these objects (name to directory) into the own run; how many.

    A dead run is marked first, so that one that only seemed dead publishes nothing. What is
    referred to, or a reader may still be at, is never moved.
    """
    here, now = this_machine(), clock()
    dead = {
        name: marker
        for name, marker in run_markers(files, staging).items()
        if name != own.run and marker is not None and not marker.alive(now, here)
    }
    runs = [f"{staging}/{name}" for name in dead]
    retired = files.read_markers([f"{run}/{RETIRED}" for run in runs])
    found: list[tuple[str, str]] = []
    for name, children, text in zip(dead, files.folders(runs), retired, strict=True):
        there = {f"{staging}/{name}/{child}" for child in set(children) - read_retired(text)}
        wanted = {object_path(staging, name, each): target for each, target in targets.items()}
        found += [(source, target) for source, target in wanted.items() if source in there]
    if not found:
        return 0
    in_use = used(own)
    newest = {target: source for source, target in reversed(found) if source not in in_use}
    for name in {source.removeprefix(f"{staging}/").split("/")[0] for source in newest.values()}:
        files.write_marker(marker_path(staging, name), dead[name].taken(own.run).to_text())
    return len(files.move({source: target for target, source in newest.items()}))


def retire(files: Files, staging: str, locations: Sequence[str | None]) -> None:
    """Notes in their runs that these directories are being replaced: readers may be at them, so
    that they wait for a sweep and are not taken over.
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
    """The objects' directories of a run that were replaced."""
    return frozenset(json.loads(text)) if text else frozenset()
