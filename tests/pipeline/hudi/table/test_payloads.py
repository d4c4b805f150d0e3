"""Which payloads of merge-on-read tables are read, and which are refused by name."""

import pytest

from pipeline.hudi.errors import UnsupportedTable
from pipeline.hudi.table.payloads import merge_options
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table

PAYLOAD = "hoodie.compaction.payload.class"
MODELS = "org.apache.hudi.common.model"


def options(fake_table, version, **properties):
    return merge_options(open_table(fake_table(version=version, **properties).path, LocalStorage()))


def test_payloads_of_version_6_are_stated_by_the_properties_of_version_9(fake_table):
    partial = {PAYLOAD: f"{MODELS}.OverwriteNonDefaultsWithLatestAvroPayload"}
    assert options(fake_table, 6, **partial) == {
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
        "hoodie.table.partial.update.mode": "IGNORE_DEFAULTS",
    }


def test_tables_that_state_how_they_merge_need_no_options(fake_table):
    assert options(fake_table, 9, **{"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}) == {}


@pytest.mark.parametrize(
    ("version", "properties", "name"),
    [
        (6, {PAYLOAD: "com.example.Mine"}, r"com\.example\.Mine"),
        (6, {PAYLOAD: f"{MODELS}.PartialUpdateAvroPayload"}, "PartialUpdateAvroPayload"),
        (9, {PAYLOAD: "com.example.Mine", "hoodie.record.merge.mode": "CUSTOM"}, r"com\.example"),
        (9, {"hoodie.record.merge.mode": "CUSTOM"}, "a class of its own"),
    ],
)
def test_a_class_that_is_not_known_is_refused(fake_table, version, properties, name):
    with pytest.raises(UnsupportedTable, match=name):
        options(fake_table, version, **properties)
