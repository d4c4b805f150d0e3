"""Directories as places that lie in one another, and what of some places is in use."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from conf.locations import BARE, Location, readings

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class FolderPath:
    """A directory. A bare path may lie in any file system, and all ports of a host may be one.

    `plain` says that the text names one directory below a root, without detours.
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

    def same_system(self, other: "FolderPath") -> bool:
        if BARE in (self.location.kind, other.location.kind):
            return True
        return self.location.may_share(other.location)


class PathUsage(Generic[K]):
    """Some places, and which of them are seen to be in use. Asked in any order, any number."""

    def __init__(self, places: Mapping[K, FolderPath]) -> None:
        self._places = places
        self._used = {key: "it is no directory" for key, p in places.items() if not p.plain}
        self._at: defaultdict[tuple[str, ...], list[K]] = defaultdict(list)
        self._below: defaultdict[tuple[str, ...], list[K]] = defaultdict(list)
        for key, place in places.items():
            self._at[place.parts].append(key)
            for count in range(len(place.parts)):
                self._below[place.parts[:count]].append(key)

    def see(self, who: str, locations: Iterable[str], *, holds: bool = False) -> None:
        """`who` uses each of the locations; with `holds` all that lies below it too. What lies
        around a location is always in use.
        """
        uses = (FolderPath(each, True) for text in locations if text for each in readings(text))
        for use in uses:
            keys = [k for n in range(len(use.parts) + 1) for k in self._at.get(use.parts[:n], ())]
            if holds:
                keys += self._below.get(use.parts, ())
            for key in keys:
                if self._places[key].same_system(use):
                    self._used.setdefault(key, f"{who} uses it")

    def found(self) -> Mapping[K, str]:
        """Those in use, and by whom."""
        return self._used
