"""Copies files of a run into an object store, and takes over those of interrupted runs.

An object store cannot move a directory in one step. So each run records in `.causeway/sent` which
files it has sent, and the next run moves these one by one into its own directories: by a copy
within the store and a deletion. A process that only seemed interrupted still writes to its old
directories.
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
    """Copies files of a run, whose folder is `run`, into an object store. `records` is the number
    of records that it has written, `recorded` are the files in them, by directory and path.
    """

    files: Files
    run: str
    records: int = 0
    recorded: set[tuple[str, str]] = field(default_factory=set)

    def copy(
        self,
        copies: Sequence[FileCopy],
        earlier: Earlier,
        options: CopyOptions,
        progress: Progress,
    ) -> list[FileResult]:
        """Takes over the files that interrupted runs have sent, and sends the others."""
        targets = {copy.target for copy in copies}
        self.recorded = {place for place in self.recorded if place[0] in targets}
        taken = self._take_over(copies, earlier)
        results = [FileResult(copy, FileStatus.KEPT, 0) for copy in taken]
        places = {_place(copy) for copy in taken}
        missing = [copy for copy in copies if _place(copy) not in places]
        # Records of files that are replaced are taken back first: the run may be killed any time.
        self._record((copy for copy in missing if _place(copy) in self.recorded), is_there=False)
        for batch in send(self.files, missing, options, progress):
            self._record(result.file for result in batch if result.status is FileStatus.SENT)
            results += batch
        return results

    def _take_over(self, copies: Sequence[FileCopy], earlier: Earlier) -> list[FileCopy]:
        """Moves the files that interrupted runs have into this run. Returns the copies that are
        complete by that; none where the store cannot copy.

        The record is written before the move. A file counts as sent only if it is also present.
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
        """Writes a record of the files: their versions, or with `is_there` false none."""
        record: defaultdict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
        for copy in copies:
            version = version_of(copy.entry) if is_there else NO_VERSION
            record[copy.target.rpartition("/")[2]][copy.entry.path] = version
            self.recorded.add(_place(copy))
        if record:
            self.files.write_marker(f"{self.run}/{SENT}/{self.records}", json.dumps(record))
            self.records += 1


def _sources(
    files: Files, copies: Sequence[FileCopy], earlier: Earlier
) -> list[tuple[FileCopy, str]]:
    """The files that interrupted runs have, each with its location."""
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
    """The files that each run has sent, by the name of the object's directory."""
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
