"""Another database, from which feeds are imported and to which they are exported."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.falcon.entities.identity import Acl, EntityKey, Kind


@dataclass(frozen=True, slots=True)
class Credential:
    """A user of a database. `kind` says where the password is; only `password-file` has one."""

    kind: str
    user: str
    file: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Driver:
    """A JDBC driver: its class, and the jars that it is in."""

    name: str
    jars: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasourceInterface:
    """How a database is read, or written: `endpoint` is a JDBC URL."""

    endpoint: str
    credential: Credential | None
    driver: Driver
    properties: tuple[tuple[str, str], ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Datasource:
    """Another database. Interfaces by type: readonly is for imports, write for exports; each has
    the datasource's own credential and driver where its element has none.
    """

    name: str
    interfaces: Mapping[str, DatasourceInterface]
    acl: Acl = field(default_factory=Acl)
    tags: str = ""
    description: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> EntityKey:
        return EntityKey(Kind.DATASOURCE, self.name)
