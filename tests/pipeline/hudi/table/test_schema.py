"""Avro schemas of commits as Arrow types, and what a mirror keeps when a schema changes."""

import json

import pyarrow as pa
import pytest

from pipeline.hudi.errors import DamagedTimeline, UnsupportedTable
from pipeline.hudi.table.schema import check_evolution, conform, is_promotion, table_schema, widened


def schema_of(*fields):
    columns = [{"name": name, "type": kind} for name, kind in fields]
    return table_schema(
        json.dumps({"type": "record", "name": "r", "fields": columns}), "100.commit"
    )


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("int", pa.int32()),
        (["null", "long"], pa.int64()),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        (
            {"type": "fixed", "name": "f", "size": 5, "logicalType": "decimal", "precision": 10,
             "scale": 2},
            pa.decimal128(10, 2),
        ),
        ({"type": "array", "items": ["null", "string"]}, pa.list_(pa.string())),
        ({"type": "map", "values": "double"}, pa.map_(pa.string(), pa.float64())),
        (
            {"type": "record", "name": "s", "fields": [{"name": "a", "type": "boolean"}]},
            pa.struct([("a", pa.bool_())]),
        ),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
    ],
)  # fmt: skip
def test_types_of_columns(avro, arrow):
    schema = schema_of(("c", avro))
    assert schema.field("c").type == arrow
    assert schema.names[:5] == [name for name in schema.names if name.startswith("_hoodie_")]


def test_a_type_is_used_again_by_its_name():
    record = {
        "type": "record", "name": "point", "namespace": "n",
        "fields": [{"name": "x", "type": "int"}],
    }  # fmt: skip
    fields = [{"name": "a", "type": record}, {"name": "b", "type": ["null", "n.point"]}]
    both = {"type": "record", "name": "both", "fields": fields}
    column = schema_of(("c", both)).field("c").type
    assert column.field("a").type == column.field("b").type == pa.struct([("x", pa.int32())])


def test_a_schema_that_cannot_be_read_is_refused():
    with pytest.raises(DamagedTimeline, match=r"100\.commit"):
        table_schema("{", "100.commit")
    with pytest.raises(DamagedTimeline, match="unheard"):
        schema_of(("c", "unheard"))
    with pytest.raises(UnsupportedTable, match="union"):
        schema_of(("c", ["int", "string"]))


def test_widened_keeps_every_column_and_the_wider_type():
    old = pa.schema([("a", pa.int64()), ("gone", pa.string()), ("n", pa.int32())])
    new = pa.schema([("n", pa.int64()), ("a", pa.int32()), ("new", pa.string())])
    wide = pa.schema(
        [("a", pa.int64()), ("gone", pa.string()), ("n", pa.int64()), ("new", pa.string())]
    )
    assert widened(old, new) == wide
    assert widened(wide, new) == wide


@pytest.mark.parametrize("kinds", [(pa.int32(), pa.string()), (pa.date32(), pa.int64())])
def test_types_without_a_common_one_are_refused(kinds):
    old, new = (pa.schema([("c", kind)]) for kind in kinds)
    with pytest.raises(UnsupportedTable, match="column c"):
        widened(old, new)


def test_widened_adds_fields_of_structs():
    old = pa.schema([("s", pa.struct([("a", pa.int32())]))])
    new = pa.schema([("s", pa.struct([("a", pa.int64()), ("b", pa.string())]))])
    assert widened(old, new) == new


def test_conform_casts_and_adds_nulls():
    rows = pa.record_batch({"n": pa.array([1], pa.int32())})
    wide = pa.schema([("new", pa.string()), ("n", pa.int64())])
    assert conform(rows, wide).to_pylist() == [{"new": None, "n": 1}]
    assert conform(rows, rows.schema) is rows


def test_promotions_are_those_of_avro():
    assert is_promotion(pa.int32(), pa.float64())
    assert not is_promotion(pa.int64(), pa.int32())


def history(*versions):
    """The file of a schemacommit: each version has (id, name, type) for its fields."""
    schemas = [
        {
            "version_id": number,
            "type": "record",
            "fields": [{"id": i, "name": n, "optional": True, "type": t} for i, n, t in fields],
        }
        for number, fields in enumerate(versions)
    ]
    return json.dumps({"schemas": schemas[::-1]})


def test_columns_may_be_added_dropped_and_promoted():
    old = [(0, "id", "int"), (1, "n", "int"), (2, "x", "string")]
    new = [(0, "id", "int"), (1, "n", "long"), (3, "new", "date")]
    check_evolution(history(old, new), "100.schemacommit")


def struct(*fields):
    columns = [{"id": i, "name": n, "optional": True, "type": t} for i, n, t in fields]
    return {"type": "record", "fields": columns}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ((1, "v", "string"), (1, "w", "string"), "v was renamed to w"),
        ((1, "v", "string"), (2, "v", "string"), "v was replaced"),
        ((1, "v", "int"), (1, "v", "string"), "v was int and is string"),
        ((1, "v", "decimal(4, 2)"), (1, "v", "string"), "was decimal"),
        ((1, "s", struct((2, "a", "int"))), (1, "s", struct((2, "b", "int"))), r"s\.a was renamed"),
        (
            (1, "l", {"type": "array", "element_id": 2, "element": struct((3, "a", "int"))}),
            (1, "l", {"type": "array", "element_id": 2, "element": struct((3, "b", "int"))}),
            r"l\.element\.a was renamed",
        ),
    ],
)
def test_columns_that_older_files_have_otherwise_are_refused(old, new, message):
    with pytest.raises(UnsupportedTable, match=message):
        check_evolution(history([old], [new]), "100.schemacommit")


def test_a_history_that_cannot_be_read_is_refused():
    with pytest.raises(DamagedTimeline, match=r"100\.schemacommit"):
        check_evolution("{}", "100.schemacommit")
