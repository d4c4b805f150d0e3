"""Searches of ended copies and instances, page by page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, select, tuple_

from database.history.schema import copies, instances
from database.history.search import cursor, limit_of, moment, place_of
from database.history.work import copy_document, instance_document

_OF_PAGE = ("since", "limit", "before")


@dataclass(frozen=True, slots=True)
class Listing:
    """A kind of work: the name of its rows in an answer, the column of their id, the columns by the
    names of a search's parameters, and the function that makes a JSON object of a row."""

    name: str
    id: Column[str]
    columns: Mapping[str, Column[Any]]
    document: Callable[[Mapping[str, Any]], dict[str, Any]]

    @property
    def parameters(self) -> tuple[str, ...]:
        return (*self.columns, *_OF_PAGE)


COPIES = Listing(
    "copies",
    copies.c.copy,
    {
        "table": copies.c.table_name,
        "from": copies.c.source,
        "to": copies.c.target,
        "state": copies.c.state,
        "entity": copies.c.entity,
        "statement": copies.c.statement,
    },
    copy_document,
)
INSTANCES = Listing(
    "instances",
    instances.c.instance,
    {
        name: instances.c[name]
        for name in ("kind", "name", "action", "cluster", "source", "state", "instance")
    },
    instance_document,
)


def work_page(
    connection: Connection, listing: Listing, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """A page of the rows that fit all parameters, the last to end first, by the listing's name, and
    `next`, the `before` of the next page; None after the last page. Raises ValueError."""
    ended, id = listing.id.table.c.ended, listing.id
    limit, before = limit_of(parameters), place_of(parameters)
    query = select(listing.id.table).order_by(ended.desc(), id.desc()).limit(limit)
    for name, column in listing.columns.items():
        if name in parameters:
            value = parameters[name]
            query = query.where(column == (value.lower() if name == "table" else value))
    if "since" in parameters:
        query = query.where(ended >= moment(parameters["since"]))
    if before is not None:
        query = query.where(ended <= before[0])  # not all databases use an index for a tuple
        query = query.where(tuple_(ended, id) < before)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    more = len(rows) == limit
    return {
        listing.name: [listing.document(row) for row in rows],
        "next": cursor(rows[-1]["ended"], rows[-1][id.name]) if more else None,
    }
