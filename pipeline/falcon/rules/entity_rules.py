"""The rules that a well-formed document has to follow (docs/reference/specification.md, FA).

`alone` checks the values of one document. `among` checks a feed's clusters with each other, and a
document with the entities that it refers to. `problems` has both. Each kind of document has a
module of rules; rules of one subject are in `exchange_rules`, and beside their subject in
`feed_properties`, `partition_paths` and `whole_tables`.
"""

from collections.abc import Callable, Iterator

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entities.process import Engine, Process
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.rules import cluster_rules, exchange_rules, feed_rules, process_rules
from pipeline.falcon.rules.shared_rules import Surroundings


def alone(entity: Entity) -> tuple[DocumentProblem, ...]:
    """Problems of a document by itself."""
    match entity:
        case Cluster():
            found = cluster_rules.alone(entity)
        case Feed():
            found = feed_rules.alone(entity)
        case Process():
            found = process_rules.alone(entity)
        case Datasource():
            found = iter(())
    return tuple(sorted(found))


def among(entity: Entity, others: Surroundings) -> tuple[DocumentProblem, ...]:
    """Problems between parts of a document, and with the entities that it refers to."""
    match entity:
        case Cluster():
            found = cluster_rules.among(entity)
        case Feed():
            found = feed_rules.among(entity, others)
        case Process():
            found = process_rules.among(entity, others)
        case Datasource():
            found = exchange_rules.datasource_problems(entity)
    return tuple(sorted(found))


def problems(entity: Entity, others: Surroundings) -> tuple[DocumentProblem, ...]:
    """All problems of a document: by itself, and with the entities that it refers to."""
    return tuple(sorted((*alone(entity), *among(entity, others))))


def unsupported(
    entity: Entity, engines: Callable[[Engine], str | None]
) -> Iterator[DocumentProblem]:
    """Reasons why a valid entity cannot run on this installation; checked when it is scheduled.

    `engines` returns None for an engine that can run, else the reason.
    """
    if isinstance(entity, Process) and (reason_not := engines(entity.workflow.engine)):
        yield DocumentProblem(entity.workflow.line, "workflow", reason_not)
