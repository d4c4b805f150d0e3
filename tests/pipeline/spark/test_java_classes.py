"""The classes of causeway-guard.jar in one JVM that runs several Spark applications."""

from pathlib import Path

import pytest

from pipeline.copy.files import CopyOptions, FileCopy, FileStatus
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

pytestmark = pytest.mark.slow


def test_a_second_application_uses_the_classes_of_the_first(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "file").write_bytes(b"bytes")
    for number in range(2):
        session = open_session("local[1]")
        try:
            files = SparkFiles(session)
            [listing] = files.listings([f"file://{source}"])
            assert listing is not None
            order = FileCopy(f"file://{source}", f"file://{target}/{number}", listing.files[0])
            [result] = files.copy_files([order], CopyOptions(attempts=1, pause=0.01))
            assert result.status is FileStatus.SENT
        finally:
            session.stop()
