"""Copies of a run into an object store, which continue those of interrupted runs.

There a directory cannot be moved in one step. So each run records in `.causeway/sent` which files
it has sent, and the next run moves these one by one into its own directories: by a copy within the
store and a deletion. A process that only seemed interrupted does not know the new places.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conf.progress import Progress
from pipeline.copy.files import CopyOptions, FileCopy, FileResult, Files, FileStatus
from pipeline.copy.sent_files import (
    NO_VERSION,
    Sent,
    read_sent,
    send,
    sent_of,
    still_sent,
    version_of,
)
from pipeline.errors import CopyError

SENT = ".causeway/sent"  # a folder of a run, with a record of each batch

Earlier = Mapping[str, Sequence[str]]
"""The directories of interrupted runs, the newest first, by the new directory of their object."""


@dataclass(slots=True)
class ObjectFiles:
    """Copies files of a run, whose folder is `run`, into an object store."""

    files: Files
    run: str
    records: int = 0
    claimed: set[tuple[str, str]] = field(default_factory=set)  # of the objects of a round

    def copy(
        self,
        copies: Sequence[FileCopy],
        earlier: Earlier,
        options: CopyOptions,
        progress: Progress,
    ) -> list[FileResult]:
        """Sends the files that no interrupted run has sent, and takes the others from there."""
        targets = {each.target for each in copies}
        self.claimed = {each for each in self.claimed if each[0] in targets}
        taken = self._take(copies, earlier)
        results = [FileResult(each, FileStatus.KEPT, 0) for each in taken]
        there = {_place(each) for each in taken}
        missing = [each for each in copies if _place(each) not in there]
        # What is replaced is taken out first, because the run may be killed at any file.
        self._record((each for each in missing if _place(each) in self.claimed), is_there=False)
        for found in send(self.files, missing, options, progress):
            self._record(each.file for each in found if each.status is FileStatus.SENT)
            results += found
        return results

    def _take(self, copies: Sequence[FileCopy], earlier: Earlier) -> list[FileCopy]:
        """Moves what interrupted runs have of these files. Returns what the run has now.

        The record is written first. It is no proof: a file counts if it is there, too. Where the
        store cannot copy, the files are sent.
        """
        sources = _sources(self.files, copies, earlier)
        if not sources:
            return []
        self._record(copy for copy, _ in sources)
        moves = {source: f"{copy.target}/{copy.entry.path}" for copy, source in sources}
        try:
            moved = self.files.move_files(moves)
        except CopyError:
            return []
        return [copy for copy, source in sources if source in moved]

    def _record(self, copies: Iterable[FileCopy], is_there: bool = True) -> None:
        found: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
        for each in copies:
            version = version_of(each.entry) if is_there else NO_VERSION
            found[each.target.rpartition("/")[2]][each.entry.path] = version
            self.claimed.add(_place(each))
        if found:
            self.files.write_marker(f"{self.run}/{SENT}/{self.records}", json.dumps(found))
            self.records += 1


def _sources(
    files: Files, copies: Sequence[FileCopy], earlier: Earlier
) -> list[tuple[FileCopy, str]]:
    """Each file that an interrupted run has, and where."""
    wanted: defaultdict[str, dict[str, FileCopy]] = defaultdict(dict)
    for each in copies:
        wanted[each.target][each.entry.path] = each
    pairs = [(new, old) for new in wanted for old in earlier.get(new, ())]
    records = _read_records(files, {old.rpartition("/")[0] for _, old in pairs})
    found: dict[tuple[str, str], tuple[FileCopy, str]] = {}
    for (new, old), listing in zip(pairs, files.listings([old for _, old in pairs]), strict=True):
        run, _, name = old.rpartition("/")
        present = {} if listing is None else {e.path: e.length for e in listing.files}
        entries = {path: copy.entry for path, copy in wanted[new].items()}
        for path in still_sent(entries, present, records[run].get(name, {})):
            found.setdefault((new, path), (wanted[new][path], f"{old}/{path}"))
    return list(found.values())


def _read_records(files: Files, runs: Iterable[str]) -> dict[str, dict[str, Sent]]:
    """What each run has sent, by the name of the object's directory."""
    folders = sorted(runs)
    found: dict[str, dict[str, Sent]] = {run: {} for run in folders}
    listings = files.listings([f"{run}/{SENT}" for run in folders])
    for run, listing in zip(folders, listings, strict=True):
        numbers = sorted((e.path for e in listing.files), key=_number) if listing else []
        for text in files.read_markers([f"{run}/{SENT}/{number}" for number in numbers]):
            document = read_sent(text)
            for name, sent in document.items() if isinstance(document, dict) else ():
                found[run][name] = {**found[run].get(name, {}), **sent_of(sent)}
    return found


def _number(name: str) -> int:
    return int(name) if name.isdecimal() else -1


def _place(copy: FileCopy) -> tuple[str, str]:
    return copy.target, copy.entry.path
