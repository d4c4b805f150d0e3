"""What one run leaves to the next: directories of the dead, and those that were replaced."""

import json
from collections.abc import Mapping, Sequence

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, notes_in
from pipeline.copy.sweep import Used
from pipeline.copy.yard import RETIRED, RunNote, is_run, note_path, object_path, this_machine


def take_over(
    files: Files, yard: str, own: RunNote, targets: Mapping[str, str], used: Used, clock: Clock
) -> int:
    """Moves what dead runs have of these objects (name to directory) into the own run; how many.

    A dead run is marked first, so that one that only seemed dead publishes nothing. What is
    referred to, or a reader may still be at, is never moved.
    """
    here = this_machine()
    found: list[tuple[str, str]] = []
    for name, note in notes_in(files, yard).items():
        if name == own.run or note is None or note.alive(clock(), here):
            continue
        there = {f"{yard}/{name}/{child}" for child in files.children(f"{yard}/{name}")}
        there -= {f"{yard}/{name}/{each}" for each in retired_in(files, yard, name)}
        wanted = {object_path(yard, name, each): target for each, target in targets.items()}
        pairs = [(source, target) for source, target in wanted.items() if source in there]
        if pairs:
            files.leave_note(note_path(yard, name), note.taken(own.run).to_text())
            found += pairs
    if not found:
        return 0
    in_use = used(own)
    newest = {target: source for source, target in reversed(found) if source not in in_use}
    return len(files.move({source: target for target, source in newest.items()}))


def retire(files: Files, yard: str, locations: Sequence[str | None]) -> None:
    """Notes in their runs that these directories are being replaced: readers may be at them, so
    that they wait for a sweep and are not taken over.
    """
    by_run: dict[str, set[str]] = {}
    for location in locations:
        run, slash, name = (location or "").removeprefix(f"{yard}/").partition("/")
        if slash and is_run(run):
            by_run.setdefault(run, set()).add(name)
    for run, names in by_run.items():
        known = retired_in(files, yard, run)
        if not names <= known:
            files.leave_note(f"{yard}/{run}/{RETIRED}", json.dumps(sorted(known | names)))


def retired_in(files: Files, yard: str, run: str) -> frozenset[str]:
    """The objects' directories of a run that were replaced."""
    text = files.note(f"{yard}/{run}/{RETIRED}")
    return frozenset(json.loads(text)) if text else frozenset()
