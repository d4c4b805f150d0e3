"""Searches of instances of all entities, page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, select, tuple_

from pipeline.scheduler.instances.instance import InstanceKey
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.queries import PLACE_IN_LIST
from pipeline.scheduler.store.schema import INSTANCE_COLUMNS, instances, schedule_values


@dataclass(frozen=True, slots=True)
class InstanceSearch:
    """A page of instances, the newest nominal time first. `equal` has columns (kind, name, action,
    cluster, source) and their values; `after` is the last instance of the page before.
    """

    equal: Mapping[str, object] = field(default_factory=dict)
    states: Sequence[InstanceState] = ()
    start: datetime | None = None
    end: datetime | None = None
    after: InstanceKey | None = None
    limit: int = 100

    def statement(self) -> Select[Any]:
        """The query of the page, with the columns INSTANCE_COLUMNS."""
        query = select(*INSTANCE_COLUMNS).order_by(*(each.desc() for each in PLACE_IN_LIST.clauses))
        for name, value in self.equal.items():
            query = query.where(instances.c[name] == value)
        if self.states:
            query = query.where(instances.c.state.in_(self.states))
        if self.start is not None:
            query = query.where(instances.c.nominal >= self.start)
        if self.end is not None:
            query = query.where(instances.c.nominal < self.end)
        if self.after is not None:
            place = {"nominal": self.after.nominal, **schedule_values(self.after.schedule)}
            literals = [bindparam(None, v, type_=instances.c[n].type) for n, v in place.items()]
            query = query.where(PLACE_IN_LIST.__lt__(tuple_(*literals)))
        return query.limit(self.limit)
