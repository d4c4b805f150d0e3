"""Directories as places that lie in one another, and what of some places is in use."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)
_SAME = {"s3n": "s3", "s3a": "s3"}

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory: its file system and the names on the way to it. A bare path may lie in any
    file system, and a host without a port may be the same host with any.
    """

    scheme: str
    host: str
    port: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, location: str) -> "Place":
        found = _URI.fullmatch(location)
        scheme, authority, path = found.groups() if found else ("", "", location)
        scheme = _SAME.get(scheme.lower(), scheme.lower())
        host, _, port = (authority or "").lower().rpartition("@")[2].partition(":")
        host = "" if scheme == "file" else host
        return cls(scheme, host, port, tuple(part for part in path.split("/") if part))

    def same_system(self, other: "Place") -> bool:
        if not self.scheme or not other.scheme:
            return True
        ports = self.port == other.port or not self.port or not other.port
        return (self.scheme, self.host) == (other.scheme, other.host) and ports

    @property
    def plain(self) -> bool:
        """It names one directory below a root, and says so without detours."""
        return bool(self.parts) and not {".", ".."} & set(self.parts)


class Watch(Generic[K]):
    """Some places, and which of them are seen to be in use. Asked in any order, any number."""

    def __init__(self, places: Mapping[K, Place]) -> None:
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
        for use in (Place.of(location) for location in locations if location):
            keys = [k for n in range(len(use.parts) + 1) for k in self._at.get(use.parts[:n], ())]
            if holds:
                keys += self._below.get(use.parts, ())
            for key in keys:
                if self._places[key].same_system(use):
                    self._used.setdefault(key, f"{who} uses it")

    def found(self) -> Mapping[K, str]:
        """Those in use, and by whom."""
        return self._used
