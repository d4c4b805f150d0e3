"""The files of a table's log: commits and checkpoints, by the versions in their names."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

LOG = "_delta_log"
SIDECARS = f"{LOG}/_sidecars"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<id>[0-9a-fA-F-]{36}))?"
    r"\.(?:parquet|json)"
)


@dataclass(frozen=True, slots=True)
class LogSegment:
    """What has to be read for the state at `version`: the files of a checkpoint, which may be
    none, and the commits after it, in order. All paths are relative to the table's directory.
    """

    version: int
    checkpoint: tuple[str, ...]
    commits: tuple[str, ...]


def segment_of(paths: Iterable[str]) -> LogSegment | str:
    """The segment of the newest version, from the paths of all files of a table; or why there is
    none, as a sentence's end.
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
