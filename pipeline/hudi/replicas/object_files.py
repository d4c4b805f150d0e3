"""Copies the files of a Hudi replica into an object store, and continues interrupted runs.

An object store keeps no time of the source. So a run records below the replica, after each batch,
which files it has sent, with their lengths and times at the source. The next run keeps a file that
exists and has a record. A file of the right length without a record may be of a killed run's last
batch, or of another source; it is kept only if a comparison finds the source's content.

A feed makes a new replica in the directory of its run, and an object store cannot move a directory
in one step. So files of interrupted runs are moved one by one, by a copy within the store and a
deletion.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conf.progress import Progress
from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileResult, Files, FileStatus
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
from pipeline.hudi.replicas.replica_plan import ORIGIN, folder_of
from pipeline.hudi.table.properties import HOODIE

SENT = f"{HOODIE}/causeway.sent"
"""A folder of the replica with a record of each batch. A run that adds commits deletes it at its
end; one that makes a replica leaves it, because the replica may not be published yet.
"""


def present_files(files: Files, base: str, folders: Iterable[str]) -> list[FileEntry]:
    """The files in these folders of `base`, with paths relative to it. Makes a listing of each."""
    names = sorted(set(folders))
    listings = files.listings([f"{base}/{each}".rstrip("/") for each in names])
    return [
        replace(found, path=f"{folder}/{found.path}".lstrip("/"))
        for folder, listing in zip(names, listings, strict=True)
        for found in (listing.files if listing else ())
    ]


@dataclass(slots=True)
class ReplicaObjects:
    """Copies files from the table `source` to the replica `target`."""

    files: Files
    source: str
    target: str
    options: CopyOptions
    progress: Progress
    records: int = 0

    def copy(
        self, entries: Sequence[FileEntry], whole: bool, earlier: Sequence[str]
    ) -> list[FileResult]:
        """Sends the files that no run has sent, up to the first batch with a failure. `whole`: the
        entries are all files of the replica. `earlier` are directories of interrupted runs, the
        newest first.
        """
        wanted = {entry.path: entry for entry in entries}
        sent = self._read_record(self.target)
        folders = [""] if whole else [folder_of(path) for path in wanted]
        present = self._find(wanted, self.target, folders, sent)
        kept = {path for path, same in present.items() if same}
        absent = {path: entry for path, entry in wanted.items() if path not in present}
        sources = self._find_earlier(absent, earlier)
        # Records are written before the moves. A file counts as sent only if it also exists.
        versions = {path: version_of(wanted[path]) for path in (*kept, *sources)}
        self._record({path: v for path, v in versions.items() if sent.get(path) != v})
        kept |= self._take_over(sources)
        missing = [self._copy_to(self.target, e) for path, e in wanted.items() if path not in kept]
        # Records of files that are replaced are taken back first: the run may be killed any time.
        recorded = sent.keys() | sources.keys()
        replaced = (copy.entry.path for copy in missing if copy.entry.path in recorded)
        self._record(dict.fromkeys(replaced, NO_VERSION))
        copies = (self._copy_to(self.target, wanted[path]) for path in kept)
        return [*(FileResult(copy, FileStatus.KEPT, 0) for copy in copies), *self._send(missing)]

    def _find_earlier(
        self, wanted: Mapping[str, FileEntry], earlier: Sequence[str]
    ) -> dict[str, str]:
        """The files that interrupted runs of this replica have, each with the run's directory."""
        sources: dict[str, str] = {}
        for place in earlier:
            if self.files.read_marker(f"{place}/{ORIGIN}") == self.source:
                left = {path: entry for path, entry in wanted.items() if path not in sources}
                found = self._find(left, place, [""], self._read_record(place))
                sources |= {path: place for path, same in found.items() if same}
        return sources

    def _find(
        self, wanted: Mapping[str, FileEntry], place: str, folders: Sequence[str], sent: Sent
    ) -> dict[str, bool]:
        """The wanted files that a directory has, and whether they are equal to the source's."""
        lengths = {e.path: e.length for e in present_files(self.files, place, folders)}
        same = set(still_sent(wanted, lengths, sent))
        unrecorded = [
            self._copy_to(place, entry)
            for path, entry in wanted.items()
            if path not in same and lengths.get(path) == entry.length
        ]
        compared = self.files.compare(unrecorded, self.options) if unrecorded else ()
        same |= {each.file.entry.path for each in compared if each.status is FileStatus.KEPT}
        return {path: path in same for path in wanted if path in lengths}

    def _take_over(self, sources: Mapping[str, str]) -> set[str]:
        """Moves files from the directories of interrupted runs into the replica. Returns the moved
        ones; none where the store cannot copy.
        """
        moves = {f"{place}/{path}": f"{self.target}/{path}" for path, place in sources.items()}
        try:
            moved = self.files.move_files(moves)
        except CopyError:
            return set()
        return {path for path, place in sources.items() if f"{place}/{path}" in moved}

    def _send(self, copies: Sequence[FileCopy]) -> list[FileResult]:
        results: list[FileResult] = []
        for found in send(self.files, copies, self.options, self.progress):
            sent = [each.file.entry for each in found if each.status is FileStatus.SENT]
            self._record({entry.path: version_of(entry) for entry in sent})
            results += found
            if len(sent) < len(found):
                break
        return results

    def _copy_to(self, place: str, entry: FileEntry) -> FileCopy:
        return FileCopy(self.source, place, entry)

    def _read_record(self, place: str) -> Sent:
        """The files that runs have sent to a directory, by its records. Sets the number of the next
        record of the target.
        """
        listing = self.files.listings([f"{place}/{SENT}"])[0]
        numbers = (
            sorted(int(e.path) for e in listing.files if e.path.isdecimal()) if listing else []
        )
        if place == self.target and numbers:
            self.records = numbers[-1] + 1
        found: dict[str, tuple[int, int]] = {}
        for text in self.files.read_markers([f"{place}/{SENT}/{n}" for n in numbers]):
            found |= sent_of(read_sent(text))
        return found

    def _record(self, versions: Sent) -> None:
        if versions:
            self.files.write_marker(f"{self.target}/{SENT}/{self.records}", json.dumps(versions))
            self.records += 1
