"""Records of a copy and of an instance of the lifecycle."""

from dataclasses import replace

from database.history.work import CopyRecord, InstanceRecord, instance_id

COPY = CopyRecord(
    id="00112233445566778899aabbccddeeff",
    run="20260131T060000-0a0b0c0d",
    table="sales.orders",
    target_table="sales.orders",
    source="east",
    target="west",
    location="hdfs://west:8020/causeway-copies/sales.db/orders",
    started=1_000_000.5,
    ended=1_000_004.0,
    partitions=2,
    objects=[("ds=1", "w1"), ("ds=2", "w2")],
    copied=2,
    files=7,
    bytes=700,
    sent=650,
    entity="feed/orders",
    trace="ffeeddccbbaa99887766554433221100",
)
INSTANCE = InstanceRecord(
    id=instance_id("replicate orders east to west 2026-01-31T06:00Z", 3),
    kind="feed",
    name="orders",
    action="replicate",
    cluster="west",
    source="east",
    nominal=1_000_000.0,
    run=0,
    attempt=2,
    state="SUCCEEDED",
    started=1_000_010.0,
    ended=1_000_020.0,
    bytes=700,
    detail="ds=1: 7 files",
    server="host:1",
)


def copy(number: int, **fields: object) -> CopyRecord:
    """A copy with this number as its id, which ended at that second."""
    made = replace(COPY, id=f"{number:032x}", ended=1_000_004.0 + number)
    return replace(made, **fields)  # type: ignore[arg-type]


def instance(number: int, **fields: object) -> InstanceRecord:
    made = replace(INSTANCE, id=f"{number:032x}", ended=1_000_020.0 + number)
    return replace(made, **fields)  # type: ignore[arg-type]
