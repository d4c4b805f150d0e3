"""FA-R10: each endpoint's file system with the settings of its own, on the driver and in tasks.

`viewfs` finds everything in its settings: a mount table for each authority.
"""

from pathlib import Path

import pytest

from pipeline.copy.endpoints import read_endpoints
from pipeline.copy.files import CopyOptions, FileCopy, FileStatus
from pipeline.errors import CopyError
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

pytestmark = pytest.mark.slow

SITE = """<configuration><property>
<name>fs.viewfs.mounttable.{authority}.link./data</name><value>file://{target}</value>
</property></configuration>"""


def conf_dir(folder: Path, endpoint: str, authority: str) -> Path:
    """Settings under which viewfs://AUTHORITY/data is `folder`/ENDPOINT."""
    (folder / endpoint).mkdir()
    conf = folder / f"conf-{endpoint}"
    conf.mkdir()
    text = SITE.format(authority=authority, target=folder / endpoint)
    (conf / "core-site.xml").write_text(text)
    return conf


def test_each_endpoint_has_its_own_settings_and_the_rest_the_stars(tmp_path: Path) -> None:
    conf_dir(tmp_path, "east", "east")
    conf_dir(tmp_path, "west", "west")
    conf_dir(tmp_path, "rest", "north")
    # Were the settings mixed, this one would take west's place.
    (tmp_path / "conf-rest" / "hdfs-site.xml").write_text(
        SITE.format(authority="west", target=tmp_path / "rest")
    )
    (tmp_path / "east" / "table").mkdir()
    (tmp_path / "east" / "table" / "file").write_bytes(b"rows" * 1000)
    session = open_session("local[2]")
    text = "east=conf-east, west=conf-west, *=conf-rest"
    files = SparkFiles(session, read_endpoints(text, tmp_path))

    [listing] = files.listings(["viewfs://east/data/table"])
    assert listing is not None
    for target in ("west", "north"):
        source, place = "viewfs://east/data/table", f"viewfs://{target}/data/copy"
        orders = [FileCopy(source, place, entry) for entry in listing.files]
        assert [each.status for each in files.copy_files(orders, CopyOptions())] == [
            FileStatus.SENT
        ]
        assert [each.status for each in files.compare(orders, CopyOptions())] == [FileStatus.KEPT]
    assert (tmp_path / "west" / "copy" / "file").read_bytes() == b"rows" * 1000
    assert (tmp_path / "rest" / "copy" / "file").read_bytes() == b"rows" * 1000

    with pytest.raises(CopyError):
        SparkFiles(session).listings(["viewfs://east/data/table"])
