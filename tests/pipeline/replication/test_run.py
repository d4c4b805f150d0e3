"""Replicas between two metastores: FA-R1..R9, and every point where a run may die."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import read_placement
from database.history.work import CopyRecord
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreDown
from metastore.placement.placement_store import PlacementStore
from metastore.view.fact_edits import HIDDEN_FACTS
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.copy_job import CopyLimits, JobContext
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.plan import step_lines
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.copy.runs.sweep import sweep_staging
from pipeline.errors import CopyError, NotCopyable, PublishFailed, UnsafeSchemaChange, WriteOpen
from pipeline.replication.plan import FROM, ReplicationPlan, ReplicationRequest
from pipeline.replication.replica_sweep import ReplicaSweep, sweep_replicas
from pipeline.replication.run import read_replication, run_replication
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore, Killed

SOURCE = TableRef("src_demo_db", "customer_raw")
TARGET = TableRef("tgt_demo_db", "customer_bcp")
BASE = "file:///tgt_demo_db.db/customer_bcp"
GRACE = 100.0


class Pair:
    """A source and a target metastore over the same file systems."""

    def __init__(self, keys: tuple[tuple[str, str], ...] = (("ds", "string"),)) -> None:
        self.now = 1_000_000.0
        self.effects = Effects()
        self.files = FakeFiles(self.effects)
        self.source, self.target = FakeMetastore(self.effects), FakeMetastore(self.effects)
        self.events: list[dict[str, object]] = []
        self.limits = CopyLimits(wait=2, attempts=3, poll=1, grace=GRACE)
        table = Table.make(
            SOURCE,
            (("a", "int"), ("b", "string")),
            location="file:///src/raw",
            partition_keys=keys,
            owner="seetharam",
            parameters={"comment": "raw", "transient_lastDdlTime": "1"},
        )
        self.source.add_table(table)
        self.files.made.add("file:///src/raw")
        self.context = JobContext(
            self.files,
            emit=lambda event: self.events.append(dict(event)),
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def add(self, *values: str, **content: str) -> None:
        table = self.source.tables[SOURCE]
        name = "/".join(f"{k}={v}" for (k, _), v in zip(table.partition_keys, values, strict=True))
        location = f"file:///src/raw/{name}"
        self.source.parts[SOURCE][name] = Partition.make(table, values, location, {"n": "1"})
        self.files.made.add(location)
        for file, body in content.items():
            self.files.write(f"{location}/{file}", body.encode())

    def request(self, day: str | None = "1", **more: object) -> ReplicationRequest:
        spec = () if day is None else (("ds", day),)
        return replace(ReplicationRequest(SOURCE, TARGET, ((spec, spec),)), **more)  # type: ignore[arg-type]

    def plan(self, request: ReplicationRequest | None = None) -> ReplicationPlan:
        request = request or self.request()
        return read_replication(request, self.source, self.target, self.files)

    def run(self, request: ReplicationRequest | None = None) -> CopyReport:
        plan = self.plan(request)
        return run_replication(
            plan, self.source, self.target, self.context, CopyOptions(), self.limits
        )

    def killed_at(self, effect: int, request: ReplicationRequest) -> bool:
        self.effects.count, self.effects.kill_at = 0, effect
        killed = True
        with contextlib.suppress(Killed):
            self.run(request)
            killed = False
        self.effects.kill_at = None
        self.now += LEASE_SECONDS + 1
        return killed

    def sweep(self) -> None:
        plan = self.plan(self.request(None))
        from pipeline.replication.replica_catalog import ReplicaCatalog

        catalog = ReplicaCatalog(plan, self.source, self.target, self.context, self.limits)
        sweep_staging(self.files, catalog.used, plan.staging, lambda: self.now, GRACE)

    def seen(self) -> dict[str, dict[str, bytes]]:
        """What a reader of the target finds."""
        parts = self.target.parts.get(TARGET, {})
        return {name: self.files.read(each.location) for name, each in parts.items()}


def test_a_replication_is_recorded() -> None:
    pair, records = Pair(), list[CopyRecord]()
    pair.context = replace(pair.context, record=records.append)
    pair.add("1", a="one", b="two")
    pair.run(pair.request(between=("east", "west")))
    pair.run(pair.request(between=("east", "west")))
    (record,) = records
    assert (record.table, record.target_table) == (str(SOURCE), str(TARGET))
    assert (record.source, record.target) == ("east", "west")
    assert [name for name, _ in record.objects] == ["ds=1"]
    assert (record.partitions, record.files, record.bytes, record.sent) == (1, 2, 6, 6)


def test_the_table_is_made_and_the_partition_appears() -> None:
    pair = Pair()
    pair.add("1", a="one", b="two")
    pair.add("2", a="other")
    assert [line.split()[0] for line in step_lines(pair.plan().steps)] == [
        "stage",
        "copy",
        "verify",
        "create",
        "publish",
        "sweep",
    ]
    report = pair.run()
    assert report.published == ["ds=1"]
    assert pair.seen() == {"ds=1": {"a": b"one", "b": b"two"}}
    table = pair.target.tables[TARGET]
    assert (table.owner, table.location) == ("seetharam", BASE)
    assert table.parameters == {"comment": "raw"}
    assert table.storage.columns == (("a", "int"), ("b", "string"))


def test_a_table_of_iceberg_is_not_replicated() -> None:
    """D16"""
    pair = Pair()
    pair.add("1", a="x")
    table = pair.source.tables[SOURCE]
    table.parameters = {
        **table.parameters,
        "table_type": "ICEBERG",
        "metadata_location": "s3://b/t/metadata/1.json",
    }
    with pytest.raises(NotCopyable, match="its metadata names the files of the primary"):
        pair.run()
    assert pair.seen() == {}


def test_a_table_of_delta_is_replicated_when_its_files_are_the_table() -> None:
    pair = Pair(())
    table = pair.source.tables[SOURCE]
    table.parameters = {**table.parameters, "spark.sql.sources.provider": "delta"}
    commit = '{"add": {"path": "f", "size": 4}}'
    pair.files.write(f"file:///src/raw/_delta_log/{0:020}.json", commit.encode())
    failed = pair.run(pair.request(None)).failed
    assert "lacks f, which its log names" in str(failed[""])
    assert TARGET not in pair.target.tables
    pair.files.write("file:///src/raw/f", b"four")
    pair.run(pair.request(None))
    location = pair.target.tables[TARGET].location
    assert pair.files.read(location) == pair.files.read("file:///src/raw")


def test_the_export_names_format_schema_origin_and_values() -> None:
    pair = Pair()
    pair.add("1", a="one")
    report = pair.run()
    text = pair.files.read_marker(f"{BASE}/_causeway/{report.run}/.causeway/export")
    reported = json.loads(text or "")
    assert reported["origin"] == str(SOURCE)
    assert reported["columns"] == [["a", "int"], ["b", "string"]]
    assert reported["input_format"] == "org.apache.hadoop.mapred.TextInputFormat"
    assert reported["partitions"][0]["values"] == ["1"]


def test_a_source_that_is_read_through_a_metastore_view() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.source.tables[SOURCE].set_text(10, HIDDEN_FACTS + "{}")
    pair.run()
    assert 10 not in pair.target.tables[TARGET].struct
    pair.source.tables[SOURCE].set_text(12, "VIRTUAL_VIEW")
    with pytest.raises(NotCopyable, match="is a view"):
        pair.plan()


def test_nothing_to_do_the_second_time() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    plan = pair.plan()
    assert (plan.items, plan.fresh, plan.steps) == ((), 1, ())


def test_another_key_and_another_date_form_in_the_target() -> None:
    pair = Pair((("ds", "string"), ("region", "string")))
    pair.add("2013-09-24-00", "us", a="one")
    pair.add("2013-09-24-00", "in", a="two")
    pair.add("2013-09-24-01", "us", a="later")
    request = ReplicationRequest(
        SOURCE, TARGET, (((("ds", "2013-09-24-00"),), (("day", "20130924"),)),)
    )
    pair.run(request)
    assert pair.seen() == {
        "day=20130924/region=in": {"a": b"two"},
        "day=20130924/region=us": {"a": b"one"},
    }


def test_static_keys_choose_partitions() -> None:
    pair = Pair((("ds", "string"), ("region", "string")))
    pair.add("1", "us", a="one")
    pair.add("1", "in", a="two")
    spec = (("ds", "1"), ("region", "us"))
    pair.run(ReplicationRequest(SOURCE, TARGET, ((spec, spec),)))
    assert list(pair.seen()) == ["ds=1/region=us"]


def test_late_data_is_copied_again_and_swapped_in() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    old = pair.target.parts[TARGET]["ds=1"].location
    pair.files.write("file:///src/raw/ds=1/late", b"more")
    pair.run()
    assert pair.seen() == {"ds=1": {"a": b"one", "late": b"more"}}
    assert pair.files.exists(old), "a reader may still be there"
    pair.now += GRACE
    pair.sweep()
    assert not pair.files.exists(old)


def test_deletes_are_replicated_only_if_requested() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.add("2", a="two")
    pair.run(pair.request(None))
    by_hand = pair.target.parts[TARGET]["ds=1"]
    by_hand = Partition.make(pair.target.tables[TARGET], ("9",), "file:///elsewhere", {})
    pair.target.parts[TARGET]["ds=9"] = by_hand
    del pair.source.parts[SOURCE]["ds=2"]
    pair.run(pair.request(None))
    assert sorted(pair.target.parts[TARGET]) == ["ds=1", "ds=2", "ds=9"]
    report = pair.run(pair.request(None, propagate_deletes=True))
    assert report.gone == ["ds=2"]
    assert sorted(pair.target.parts[TARGET]) == ["ds=1", "ds=9"]


def test_a_partition_that_another_run_copies_during_the_plan_is_not_dropped() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run(pair.request(None))
    read = pair.source.get_partition_names

    def read_before_another_run(ref: TableRef) -> Sequence[str]:
        names = list(read(ref))
        pair.source.get_partition_names = read  # type: ignore[method-assign]
        pair.add("2", a="two")
        pair.run(pair.request("2"))
        return names

    pair.source.get_partition_names = read_before_another_run  # type: ignore[method-assign]
    report = pair.run(pair.request(None, propagate_deletes=True))
    assert report.gone == []
    assert sorted(pair.seen()) == ["ds=1", "ds=2"]


def test_columns_added_at_the_end_are_followed() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    table = pair.source.tables[SOURCE]
    table.storage.columns = (*table.storage.columns, ("c", "int"))
    pair.run()
    assert pair.target.tables[TARGET].storage.columns[-1] == ("c", "int")


@pytest.mark.parametrize(
    "columns",
    [
        (("a", "int"),),
        (("b", "string"), ("a", "int")),
        (("a", "string"), ("b", "string")),
        (("a", "int"), ("x", "string")),
    ],
)
def test_unsafe_schema_changes_are_refused(columns: tuple[tuple[str, str], ...]) -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.source.tables[SOURCE].storage.columns = columns
    before = pair.seen()
    with pytest.raises(UnsafeSchemaChange):
        pair.plan()
    assert pair.seen() == before


def test_hives_two_names_of_the_text_output_format_are_one() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    storage = pair.target.tables[TARGET].storage
    storage.set_text(4, "org.apache.hadoop.hive.ql.io.IgnoreKeyTextOutputFormat")
    assert pair.plan().change is None


def test_a_refused_registration_is_tried_again() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 2
    assert pair.run().published == ["ds=1"]
    assert sum(event["event"] == "refused" for event in pair.events) == 2


def test_a_registration_with_a_lost_reply_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = Pair()
    pair.add("1", a="one")
    add, lost = pair.target.add_partitions, iter([True])

    def answer_lost(ref: TableRef, partitions: Sequence[Partition]) -> None:
        add(ref, partitions)
        for _ in lost:
            raise MetastoreDown("no answer")

    monkeypatch.setattr(pair.target, "add_partitions", answer_lost)
    assert pair.run().published == ["ds=1"]
    assert pair.seen() == {"ds=1": {"a": b"one"}}
    pair.sweep()
    assert pair.seen() == {"ds=1": {"a": b"one"}}


def test_a_partition_that_appears_after_the_plan_is_swapped() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("2", a="two")

    def made_by_hand(path: str) -> None:
        made = Partition.make(pair.target.tables[TARGET], ("2",), "file:///hand", {"by": "hand"})
        pair.target.parts[TARGET]["ds=2"] = made

    pair.files.during = made_by_hand
    assert pair.run(pair.request("2")).published == ["ds=2"]
    assert pair.seen() == {"ds=1": {"a": b"one"}, "ds=2": {"a": b"two"}}
    assert pair.target.parts[TARGET]["ds=2"].parameters["by"] == "hand"


def test_when_registration_is_refused_to_the_end_nothing_stays() -> None:
    """FA-R6: staging and target empty, metadata untouched."""
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 3
    with pytest.raises(PublishFailed):
        pair.run()
    assert pair.target.tables == {}
    assert [path for path in pair.files.content if path.startswith(BASE)] == []


def test_a_refusal_is_reported_also_when_its_files_cannot_be_removed() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.target.refusals = 3

    def failing(locations: Sequence[str]) -> None:
        if locations:
            raise CopyError("the name node is in safe mode.")

    pair.files.delete = failing  # type: ignore[method-assign]
    with pytest.raises(PublishFailed, match=r"3 attempts.*could not be removed.*safe mode"):
        pair.run()


def test_a_refusal_leaves_what_was_there() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("2", a="two")
    pair.target.refusals = 3
    with pytest.raises(PublishFailed):
        pair.run(pair.request("2"))
    assert pair.seen() == {"ds=1": {"a": b"one"}}
    runs = pair.files.children(f"{BASE}/_causeway")
    assert len(runs) == 1


def test_an_unpartitioned_table_appears_whole_and_is_swapped() -> None:
    pair = Pair(())
    pair.files.write("file:///src/raw/a", b"one")
    pair.run(pair.request(None))
    location = pair.target.tables[TARGET].location
    assert pair.files.read(location) == {"a": b"one"}
    pair.files.write("file:///src/raw/a", b"two")
    pair.run(pair.request(None))
    assert pair.target.tables[TARGET].location != location
    assert pair.files.read(pair.target.tables[TARGET].location) == {"a": b"two"}
    assert pair.plan(pair.request(None)).items == ()
    assert FROM in pair.target.tables[TARGET].parameters


def test_a_source_that_is_being_written_is_waited_for_and_refused() -> None:
    pair = Pair()
    pair.add("1", a="one")
    PlacementStore(pair.source, ClusterName("C1")).open_write(SOURCE, "w", None, 0, "test")
    report = pair.run()
    assert isinstance(report.failed["ds=1"], WriteOpen)
    assert pair.seen() == {}


def test_secondary_copies_of_the_target_become_stale() -> None:
    cluster = ClusterName("B1")
    pair = Pair()
    pair.add("1", a="one")
    pair.run(pair.request(cluster=cluster))
    pair.files.write("file:///src/raw/ds=1/late", b"more")
    before = read_placement(pair.target.tables[TARGET].parameters, cluster).write
    part = read_placement(pair.target.parts[TARGET]["ds=1"].parameters, cluster).write
    pair.run(pair.request(cluster=cluster))
    after = read_placement(pair.target.tables[TARGET].parameters, cluster)
    after_part = read_placement(pair.target.parts[TARGET]["ds=1"].parameters, cluster).write
    assert (after.write, after_part) != (before, part)
    assert not after.writing
    assert pair.seen() == {"ds=1": {"a": b"one", "late": b"more"}}


def test_keys_that_the_source_has_not_are_refused() -> None:
    pair = Pair()
    with pytest.raises(NotCopyable, match="no partition key nope"):
        pair.plan(ReplicationRequest(SOURCE, TARGET, (((("nope", "1"),), (("nope", "1"),)),)))


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_killed_at_every_point_readers_see_whole_partitions_and_a_rerun_ends_it(
    again: bool,
) -> None:
    kills = 0
    for effect in range(1, 200):
        pair = Pair()
        pair.add("1", a="one", b="two")
        pair.add("2", a="three")
        old = {}
        if again:
            pair.run(pair.request(None))
            old = pair.seen()
            pair.files.write("file:///src/raw/ds=1/a", b"uno")
            pair.files.write("file:///src/raw/ds=2/c", b"more")
        new = {name: pair.files.read(f"file:///src/raw/{name}") for name in ("ds=1", "ds=2")}

        def look(old: dict = old, new: dict = new, pair: Pair = pair) -> None:
            for name, content in pair.seen().items():
                assert content in (old.get(name), new[name])
            assert set(old) <= set(pair.seen()), "no gap"

        pair.effects.watch = look
        pair.files.sent = []
        if not pair.killed_at(effect, pair.request(None)):
            break
        kills += 1
        pair.files.sent, sent = [], pair.files.sent
        pair.run(pair.request(None))
        assert pair.seen() == new
        assert not set(sent) & set(pair.files.sent), "sent twice"
        for _ in range(2):
            pair.sweep()
            pair.now += GRACE + LEASE_SECONDS
        pair.sweep()
        runs = pair.files.children(f"{BASE}/_causeway")
        there = {
            f"{BASE}/_causeway/{run}/{name}"
            for run in runs
            for name in pair.files.children(f"{BASE}/_causeway/{run}")
            if not name.startswith(".")
        }
        assert there == {each.location for each in pair.target.parts[TARGET].values()}
    assert kills > 10


def test_a_sweep_of_all_tables_reaches_what_a_replication_left() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.add("1", a="another")
    pair.run()
    objects = ObjectCatalog(pair.target, ClusterName("c2"))

    def sweep() -> ReplicaSweep:
        states = objects.tables(TARGET.db)
        return sweep_replicas(pair.files, objects, states, lambda: pair.now, GRACE)

    def versions() -> list[bytes]:
        files = pair.files.read(BASE)
        return [body for path, body in files.items() if path.endswith("/a")]

    assert len(versions()) == 2
    assert sweep().swept.deleted == 0
    pair.now += GRACE
    assert sweep().swept.deleted == 1
    assert versions() == [b"another"]
    assert pair.seen() == {"ds=1": {"a": b"another"}}


def test_a_table_that_cannot_be_read_does_not_end_the_sweep_of_others() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    pair.target.add_table(Table.make(TableRef(TARGET.db, "a"), (), location="hdfs://gone/a"))
    children = pair.files.children

    def failing(location: str) -> tuple[str, ...]:
        if location.startswith("hdfs://gone"):
            raise CopyError("no such name node.")
        return children(location)

    pair.files.children = failing  # type: ignore[method-assign]
    objects = ObjectCatalog(pair.target, ClusterName("c2"))
    states = objects.tables(TARGET.db)
    found = sweep_replicas(pair.files, objects, states, lambda: pair.now, GRACE)
    assert found.swept.kept == 1
    assert list(found.unreadable) == ["hdfs://gone/a/_causeway"]
