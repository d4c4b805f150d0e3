"""Names of data files."""

import pytest

from pipeline.hudi.table.slices import parse_base, parse_log
from pipeline.hudi.table.storage import FileInfo


def status(name):
    return FileInfo(f"/t/p/{name}", 1)


@pytest.mark.parametrize(
    ("name", "group", "instant"),
    [
        ("a2e-e249-0_0-161-223_20240418173235694.parquet", "a2e-e249-0", "20240418173235694"),
        ("f_1_100.orc", "f", "100"),
        ("f_1_100_hudiext.parquet", "f", "100"),
    ],
)  # fmt: skip
def test_base_files(name, group, instant):
    found = parse_base("p", status(name))
    assert (found.group, found.instant) == (("p", group), instant)


def test_log_files():
    found = parse_log("p", status(".39cc-0_20260307162634665.log.12_0-52-126"))
    assert (found.group, found.instant, found.version) == (("p", "39cc-0"), "20260307162634665", 12)
    assert parse_log("p", status(".39cc-0_100.log.1")).version == 1


@pytest.mark.parametrize(
    "name",
    [".hoodie_partition_metadata", "part-0.parquet", ".f_1_100.parquet.crc", "f_1_100.parquet.tmp",
     ".f_100.log.1_0-1-0.cdc", "_SUCCESS"],
)  # fmt: skip
def test_other_files(name):
    assert parse_base("p", status(name)) is None
    assert parse_log("p", status(name)) is None
