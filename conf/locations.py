"""Compares locations of directories, and finds the cluster to which a location belongs.

A location is a URI or a bare path, as in statements, the metastore and settings. Texts that Hadoop
reads as the same directory are equal `Location`s. The guard has the same rules in Java (guard/,
Locations.java); tests/conf/location_cases.json has the cases of both.

- `file:/x`, `file:///x`, `file://host/x` and `pfile:` name a path of this machine. Scheme and host
  are compared in lower case; dots at the end of a host, user names and doubled slashes are ignored;
  `.` and `..` are resolved.
- The authority of an object store is a bucket or an account. It has to be equal.
- Every other scheme is served by a host. `hdfs`, `webhdfs`, `viewfs` and unknown schemes of one
  host are the same file system. A host and its full name (`nn`, `nn.example.org`) are the same.
- A location with the same host and port as a cluster's file system (the default port of `hdfs` is
  8020) lies in that file system. With another port it may lie in every file system of that host.
- A bare path belongs to file systems of the scheme `file`, as if it were written with `file:`.
- `%2e` may mean three letters or a dot: both readings count.
- If file systems are nested, the location belongs to the deepest one.

An ambiguous location belongs to each cluster that it may lie in.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from conf.names import ClusterName

FILE = "file"
HOST = "host"
BARE = ""
_FILE_SCHEMES = frozenset({"file", "pfile"})
_STORES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "abfs"),
    **{name: name for name in ("gs", "adl", "oss", "obs", "cos", "cosn", "o3fs", "ofs")},
}
_DEFAULT_PORTS = {"hdfs": "8020"}
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)", re.DOTALL)
_SERVER = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
_NUMERIC = re.compile(r"[0-9.]+|\[.*\]")
_RAW = (".reserved", "raw")  # a folder in which HDFS shows its whole tree a second time


@dataclass(frozen=True, slots=True)
class Location:
    """A directory. `kind` is FILE, HOST, BARE or the name of an object store; `parts` are the names
    in its path. `port` is empty if the text has none.
    """

    kind: str
    host: str
    port: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Location":
        """The location of a text, in which percent signs are not decoded."""
        found = _URI.fullmatch(text)
        if not found:
            return cls(BARE, "", "", _parts(text))
        scheme, authority, path = found.groups()
        scheme, authority = scheme.lower(), (authority or "").lower()
        if scheme in _FILE_SCHEMES:
            return cls(FILE, "", "", _parts(path))
        if scheme in _STORES:
            return cls(_STORES[scheme], authority, "", _parts(path))
        host, port = _server(authority.rpartition("@")[2])
        return cls(HOST, host, port or _DEFAULT_PORTS.get(scheme, ""), _served(_parts(path)))

    @property
    def folder(self) -> str:
        """A text that is equal for equal directories of one host, whatever the port is."""
        return "/".join((f"{self.kind}:/", self.host, *self.parts))

    def is_inside(self, folder: "Location") -> bool:
        """Whether the location may be `folder`, or lie below it."""
        return self.may_share(folder) and self.parts[: len(folder.parts)] == folder.parts

    def may_share(self, other: "Location") -> bool:
        """Whether both may lie in the same file system."""
        if BARE in (self.kind, other.kind):
            return {self.kind, other.kind} <= {BARE, FILE}
        return self.kind == other.kind and (
            self.host == other.host or (self.kind == HOST and _same_name(self.host, other.host))
        )

    def shares(self, other: "Location") -> bool:
        """Whether both certainly lie in the same file system."""
        same = (self.kind, self.host, self.port) == (other.kind, other.host, other.port)
        return same or {self.kind, other.kind} == {BARE, FILE}


def readings(text: str) -> Iterator[Location]:
    """The locations that `text` may name: as it is, and with its percent signs decoded."""
    yield Location.of(text)
    if "%" in text:
        yield Location.of(unquote(text, errors="surrogateescape"))


def clusters_of(location: str, filesystems: Mapping[ClusterName, str]) -> frozenset[ClusterName]:
    """The clusters whose file system has, or may have, the location; none if it is a shared one."""
    roots = {name: Location.of(filesystem) for name, filesystem in filesystems.items()}
    return frozenset(name for each in readings(location) for name in _owners(each, roots))


def foreign_cluster(
    location: str, filesystems: Mapping[ClusterName, str], own: ClusterName
) -> ClusterName | None:
    """A cluster other than `own` to which the location belongs or may belong; None if there is
    none.

    A cluster that has the same file system as `own` is no other one.
    """
    home = Location.of(filesystems[own]) if own in filesystems else None
    for name in sorted(clusters_of(location, filesystems) - {own}):
        if Location.of(filesystems[name]) != home:
            return name
    return None


def _owners(location: Location, roots: Mapping[ClusterName, Location]) -> list[ClusterName]:
    certain = {name: root for name, root in roots.items() if location.shares(root)}
    possible = (certain or roots).items()
    holding = [(name, root) for name, root in possible if location.is_inside(root)]
    depth = max((len(root.parts) for _, root in holding), default=0) if certain else 0
    return [name for name, root in holding if len(root.parts) >= depth]


def _parts(path: str) -> tuple[str, ...]:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


def _served(parts: tuple[str, ...]) -> tuple[str, ...]:
    return parts[2:] if parts[:2] == _RAW else parts


def _server(authority: str) -> tuple[str, str]:
    found = _SERVER.fullmatch(authority)
    host, port = found.groups() if found else (authority, "")
    return host.rstrip("."), port or ""


def _same_name(one: str, other: str) -> bool:
    """Whether one host name begins with all labels of the other one."""
    if not one or not other or _NUMERIC.fullmatch(one) or _NUMERIC.fullmatch(other):
        return False
    short, long = sorted((one, other), key=len)
    return long.startswith(short + ".")
