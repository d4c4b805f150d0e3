"""Random lives of tables over three clusters: no read sees stale or missing data, no write happens
outside the primary (DC-M4, DC-R2, DC-R4, D10, D15).

The facts are changed by the real code over a metastore in memory, routed by the real router from
real partition sheets; the bytes are numbers in a dictionary, which is the model. Some writers come
past the proxy, by table, by path, through a second table, as streams or file by file without a
plan: the view gets the guard's calls before and after each of them, as long as the writer lives.
Proxies and writers die and leave their marks, and the view starts again.
"""

import os

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from conf.names import ClusterName, TableRef
from dialect.statement import ALL, Known, Read
from router.decision import RunIn
from tests.metastore.lives.direct_writes import DirectWrites
from tests.metastore.lives.model import DAYS, PARTED, Days, objects, pins

LIVES = int(os.environ.get("CAUSEWAY_HISTORIES", "60"))


class Lives(DirectWrites):
    @rule(
        wanted=st.lists(objects, min_size=1, max_size=3, unique=True),
        pinned=pins,
        whole=st.booleans(),
    )
    def read(
        self,
        wanted: list[tuple[TableRef, str | None]],
        pinned: ClusterName | None,
        whole: bool,
    ) -> None:
        days = frozenset(DAYS if whole else [day for _, day in wanted if day is not None])
        refs = {table for table, _ in wanted if table in self.memory.tables}
        reads = tuple(Read(table, Days(days) if table == PARTED else ALL) for table in sorted(refs))
        decision = self.decide(Known("select", reads=reads), pinned)
        seen = [
            (table, day)
            for table in refs
            for day in (days if table == PARTED else [None])
            if self.exists(table, day)
        ]
        if isinstance(decision, RunIn):
            for table, day in seen:
                self.check_read(table, day, decision.cluster)
        else:
            assert (
                pinned is not None or len({self.placement(*each)[0].primary for each in seen}) > 1
            )

    def check_read(self, table: TableRef, day: str | None, cluster: ClusterName) -> None:
        placement, own = self.placement(table, day)
        truth = self.files[own]
        if cluster == placement.primary:
            return
        copy, name = placement.copy_in(cluster), ""
        if copy is None and table == PARTED:
            copy, name = self.placement(table, None)[0].copy_in(cluster), f"/ds={day}"
        assert copy is not None, f"{table} {day} is not in {cluster}"
        assert self.files[copy.location + name] == truth, f"{table} {day} in {cluster} is stale"

    @invariant()
    def a_whole_copy_is_fresh_for_every_partition(self) -> None:
        if PARTED in self.memory.tables:
            placed, _ = self.placement(PARTED, None)
            for day in DAYS if placed.uniform else ():
                for cluster in placed.replicas().fresh if self.exists(PARTED, day) else ():
                    self.check_read(PARTED, day, cluster)

    @invariant()
    def nothing_is_fresh_that_differs(self) -> None:
        for ref in self.memory.tables:
            for day in DAYS if ref == PARTED else [None]:
                if self.exists(ref, day):
                    for cluster in self.placement(ref, day)[0].replicas().fresh:
                        self.check_read(ref, day, cluster)


TestLives = pytest.mark.slow(Lives.TestCase)
TestLives.settings = settings(max_examples=LIVES, stateful_step_count=60, deadline=None)
