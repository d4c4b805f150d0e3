"""Directories that contain one another, and which of a set of them are in use."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from conf.locations import BARE, Location, readings

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class FolderPath:
    """A directory. A path without a file system may be in any file system, and all ports of a host
    may be one file system.

    `plain` is false for a root and for a path with `.` or `..` in it.
    """

    location: Location
    plain: bool

    @classmethod
    def of(cls, text: str) -> "FolderPath":
        location = Location.of(text)
        detours = {".", ".."} & set(text.split("/"))
        return cls(location, bool(location.parts) and not detours)

    @property
    def parts(self) -> tuple[str, ...]:
        return self.location.parts

    def may_share_system(self, other: "FolderPath") -> bool:
        """Whether both may be in one file system."""
        if BARE in (self.location.kind, other.location.kind):
            return True
        return self.location.may_share(other.location)


class PathUsage(Generic[K]):
    """Some directories, and for each the first user that was added. Users may be tables, databases
    or clusters.
    """

    def __init__(self, folders: Mapping[K, FolderPath]) -> None:
        self._folders = folders
        self._reasons = {k: "it is no directory" for k, f in folders.items() if not f.plain}
        self._at: defaultdict[tuple[str, ...], list[K]] = defaultdict(list)
        self._below: defaultdict[tuple[str, ...], list[K]] = defaultdict(list)
        for key, folder in folders.items():
            self._at[folder.parts].append(key)
            for count in range(len(folder.parts)):
                self._below[folder.parts[:count]].append(key)

    def add(self, user: str, locations: Iterable[str], *, tree: bool = False) -> None:
        """Records that `user` uses each location, and so every directory around it; with `tree`
        also every directory below it.
        """
        uses = (FolderPath(each, True) for text in locations if text for each in readings(text))
        for use in uses:
            keys = [k for n in range(len(use.parts) + 1) for k in self._at.get(use.parts[:n], ())]
            if tree:
                keys += self._below.get(use.parts, ())
            for key in keys:
                if self._folders[key].may_share_system(use):
                    self._reasons.setdefault(key, f"{user} uses it")

    def reasons(self) -> Mapping[K, str]:
        """The directories that are in use or not plain, each with the reason to keep it."""
        return self._reasons
