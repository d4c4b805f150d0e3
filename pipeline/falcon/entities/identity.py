"""The kind, the key and the owner of an entity."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kind of an entity; the value is its element and its name on the command line."""

    CLUSTER = "cluster"
    FEED = "feed"
    PROCESS = "process"
    DATASOURCE = "datasource"


@dataclass(frozen=True, slots=True, order=True)
class EntityKey:
    """An entity's identity."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True, slots=True)
class Acl:
    """Who owns an entity; `permission` is free text (0755, 0x755, *)."""

    owner: str | None = None
    group: str | None = None
    permission: str = "*"
