"""Which partitions a replication copies, which tables it refuses, and how schemas follow."""

import pytest

from metastore.view.fact_edits import HIDDEN_FACTS
from pipeline.errors import NotCopyable, UnsafeSchemaChange
from pipeline.replication.plan import ReplicationRequest
from tests.pipeline.replication.pair import SOURCE, TARGET, Pair


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


def test_keys_that_the_source_has_not_are_refused() -> None:
    pair = Pair()
    with pytest.raises(NotCopyable, match="no partition key nope"):
        pair.plan(ReplicationRequest(SOURCE, TARGET, (((("nope", "1"),), (("nope", "1"),)),)))
