"""Another database, from which feeds are imported and to which they are exported."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.falcon.entities.identity import Acl, EntityKey, Kind


@dataclass(frozen=True, slots=True)
class Credential:
    """A user of a database. `kind` says where the password is: with password-file in `file`."""

    kind: str
    user: str
    file: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Driver:
    """A JDBC driver: the name of its class, and the jars that contain it."""

    name: str
    jars: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasourceInterface:
    """An interface for reading or for writing a database. `endpoint` is a JDBC URL."""

    endpoint: str
    credential: Credential | None
    driver: Driver
    properties: tuple[tuple[str, str], ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Datasource:
    """Another database. Interfaces by type: readonly for imports, write for exports. An interface
    without a credential or driver has the datasource's.
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
