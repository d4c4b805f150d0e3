"""The folder of a pull's target: on this machine or on S3."""

from collections.abc import Mapping
from pathlib import Path

from pipeline.hudi.errors import StorageFault
from pipeline.hudi.folders.folder import TargetFolder
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.folders.s3_folder import S3Folder
from pipeline.hudi.table.open_storage import open_writable
from pipeline.hudi.table.storage import is_local, local_path


def open_folder(
    target: str, endpoints: Mapping[str, Mapping[str, str]], spark_conf: Mapping[str, str]
) -> TargetFolder:
    """`endpoints` and `spark_conf` as in `open_storage`. Raises StorageFault."""
    if is_local(target):
        return LocalFolder(Path(local_path(target)).absolute())
    opened = open_writable(target, endpoints, spark_conf)
    if opened is None:
        raise StorageFault(
            f"{target} is no Hudi table, and files are pulled only into folders of this machine, of"
            " HDFS, and of S3 with settings that need no Hadoop."
        )
    return S3Folder(target, *opened)
