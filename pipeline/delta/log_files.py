"""The files of a table's log: commits and checkpoints, by the versions in their names.

All files of a table except `REPLACED` are written once, under a name that no other file ever has.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LOG = "_delta_log"
SIDECARS = f"{LOG}/_sidecars"
REPLACED = frozenset({f"{LOG}/_last_checkpoint", f"{LOG}/._last_checkpoint.crc"})
"""The pointer to a checkpoint, and the checksum that Hadoop writes beside it on local disks."""
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<id>[0-9a-fA-F-]{36}))?"
    r"\.(?:parquet|json)"
)


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The files to read for the state at `version`: those of a checkpoint, if there is one, and the
    commits after it, in order. All paths are relative to the table's directory.
    """

    version: int
    checkpoint: tuple[str, ...]
    commits: tuple[str, ...]


def commit_path(version: int) -> str:
    return f"{LOG}/{version:020}.json"


def is_unique(commit: str) -> bool:
    """Whether a commit has an id, a time or the name of a data file. A commit without these may
    have the same bytes in another table.
    """
    return any(f'"{kind}"' in commit for kind in ("commitInfo", "metaData", "add", "remove"))


def in_order(paths: Iterable[str]) -> Iterator[list[str]]:
    """The paths in groups. A directory to which the files are added group by group has a whole
    version after each group, if the files have every commit since its newest version. The order is:
    all files that the log names, each commit by itself, checkpoints and checksums, `REPLACED`.
    """
    groups: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if path in REPLACED:
            groups[3, ""].append(path)
        elif folder != LOG:
            groups[0, ""].append(path)
        elif _COMMIT.fullmatch(name):
            groups[1, name].append(path)
        else:
            groups[2, ""].append(path)
    for key in sorted(groups):
        yield groups[key]


def segment_of(paths: Iterable[str]) -> LogSegment | str:
    """The segment of the newest version, from the paths of all files of a table; or the reason why
    there is none, as the end of a sentence.
    """
    commits: dict[int, str] = {}
    checkpoints: defaultdict[tuple[int, str, int], list[str]] = defaultdict(list)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder != LOG:
            continue
        if found := _COMMIT.fullmatch(name):
            commits[int(found[1])] = path
        elif found := _CHECKPOINT.fullmatch(name):
            key = (int(found[1]), found["id"] or "", int(found["parts"] or 1))
            checkpoints[key].append(path)
    whole = {key: files for key, files in checkpoints.items() if len(files) == key[2]}
    if not commits and not whole:
        return "has no log of Delta"
    newest = max(whole, default=(-1, "", 0))
    version = max([*commits, newest[0]])
    needed = range(newest[0] + 1, version + 1)
    lost = next((each for each in needed if each not in commits), None)
    if lost is not None:
        return f"lacks the {f'commit {lost}' if lost else 'first commit'} in its log"
    checkpoint = tuple(sorted(whole.get(newest, ())))
    return LogSegment(version, checkpoint, tuple(commits[each] for each in needed))
