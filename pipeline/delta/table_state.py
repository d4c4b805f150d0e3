"""The state of a table at its newest version, and whether the files of a directory have it.

Paths in the log are URIs relative to the table's directory, so the log of a copy names the files of
the copy. Absolute ones, those of shallow clones, name files elsewhere.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pipeline.delta.deletion_vectors import BadVector, vector_file
from pipeline.errors import FilesNotEnough

Action = Mapping[str, Mapping[str, object] | None]
"""A line of the log: the kind of an action and its fields."""

READER, WRITER = 3, 7  # the newest supported versions of the protocol
FEATURES = frozenset({
    "allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints",
    "checkpointProtection", "clustering", "columnMapping", "deletionVectors", "domainMetadata",
    "generatedColumns", "identityColumns", "inCommitTimestamp", "invariants", "rowTracking",
    "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
})  # fmt: skip
"""Features that name no files in other ways and keep no state outside of the table's directory."""
_COORDINATED = "delta.coordinatedCommits."


@dataclass(slots=True)
class DeltaState:
    """`files` are the paths and sizes of the data files. `vectors` are, by data file, the path of
    the file with its deletion vector and the least size of that file.
    """

    files: dict[str, int] = field(default_factory=dict)
    vectors: dict[str, tuple[str, int]] = field(default_factory=dict)

    def start(self, actions: Iterable[Action]) -> None:
        """Applies the actions of a checkpoint, sidecars included. Raises FilesNotEnough."""
        for action in actions:
            if add := action.get("add"):
                self._add(add)
            else:
                _check(action)

    def apply(self, actions: Iterable[Action]) -> None:
        """Applies the actions of one commit. Raises FilesNotEnough."""
        added: list[Mapping[str, object]] = []
        for action in actions:
            if remove := action.get("remove"):
                path = _relative(remove)
                self.files.pop(path, None)
                self.vectors.pop(path, None)
            elif add := action.get("add"):
                added.append(add)
            elif cdc := action.get("cdc"):
                _relative(cdc)
            else:
                _check(action)
        # A commit that changes a file's vector removes and adds the same path.
        for add in added:
            self._add(add)

    def _add(self, add: Mapping[str, object]) -> None:
        path = _relative(add)
        self.files[path] = int(str(add["size"]))
        vector = add.get("deletionVector")
        if isinstance(vector, Mapping) and vector.get("storageType"):
            try:
                found = vector_file(vector)
            except BadVector:
                raise FilesNotEnough("has a deletion vector outside its directory") from None
            if found is not None:
                self.vectors[path] = found

    def difference(self, lengths: Mapping[str, int]) -> str:
        """How a directory with files of these lengths differs from the state, as the end of a
        sentence; empty if it does not.
        """
        for path, size in self.files.items():
            if path not in lengths:
                return f"lacks {path}, which its log names"
            if lengths[path] != size:
                return f"has {lengths[path]} bytes of {path}, and its log says {size}"
        for path, least in self.vectors.values():
            if lengths.get(path, -1) < least:
                return f"lacks {path} or a part of it, which its log names"
        return ""


def parse_commit(text: str) -> Iterator[Action]:
    """The actions of a commit. Raises FilesNotEnough."""
    try:
        for line in text.split("\n"):  # splitlines() would also split at line ends within values
            if line.strip():
                yield json.loads(line)
    except ValueError as error:
        raise FilesNotEnough(f"has a commit that cannot be read: {error}") from error


def _check(action: Action) -> None:
    """Raises FilesNotEnough for a protocol or a property of the table that is not supported."""
    if protocol := action.get("protocol"):
        _check_protocol(protocol)
    elif metadata := action.get("metaData"):
        _check_metadata(metadata)


def _relative(action: Mapping[str, object]) -> str:
    """The path of an action's file in the directory. Raises FilesNotEnough for one elsewhere."""
    text = str(action["path"])
    head = text.partition("/")[0]
    if text.startswith("/") or ":" in head:
        raise FilesNotEnough(f"names {text} by an absolute path, as shallow clones do")
    path = unquote(text)
    if ".." in path.split("/"):
        raise FilesNotEnough(f"names {text} outside its directory")
    return path


def _check_protocol(protocol: Mapping[str, object]) -> None:
    reader = int(str(protocol.get("minReaderVersion") or 1))
    writer = int(str(protocol.get("minWriterVersion") or 1))
    if reader > READER or writer > WRITER:
        raise FilesNotEnough(f"needs version {reader} and {writer} of Delta's protocol")
    named = (protocol.get("readerFeatures"), protocol.get("writerFeatures"))
    wanted = {str(each) for names in named if isinstance(names, list) for each in names}
    if unknown := sorted(wanted - FEATURES):
        raise FilesNotEnough(f"has the feature {unknown[0]}, which is not known to be safe to copy")


def _check_metadata(metadata: Mapping[str, object]) -> None:
    settings = metadata.get("configuration")
    pairs = settings.items() if isinstance(settings, Mapping) else settings or ()
    for key, value in pairs:  # type: ignore[attr-defined]
        if str(key).startswith(_COORDINATED) and value:
            raise FilesNotEnough("has commits that another service coordinates")
