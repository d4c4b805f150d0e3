"""The clusters, feeds and datasources that entities refer to by name. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed


@dataclass(frozen=True, slots=True)
class EntitySet:
    """The entities at one moment, by name."""

    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    feed_by_name: Mapping[str, Feed] = field(default_factory=dict)
    datasources: Mapping[str, Datasource] = field(default_factory=dict)

    @classmethod
    def of(cls, entities: Iterable[Entity]) -> "EntitySet":
        """The clusters, feeds and datasources among `entities`."""
        every = tuple(entities)
        return cls(
            {each.name: each for each in every if isinstance(each, Cluster)},
            {each.name: each for each in every if isinstance(each, Feed)},
            {each.name: each for each in every if isinstance(each, Datasource)},
        )

    def cluster(self, name: str) -> Cluster | None:
        return self.clusters.get(name)

    def datasource(self, name: str) -> Datasource | None:
        return self.datasources.get(name)

    def feed(self, name: str) -> Feed | None:
        return self.feed_by_name.get(name)

    def feeds(self) -> Sequence[Feed]:
        return tuple(self.feed_by_name.values())
