"""The directories of the instances of a feed of paths. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.partition_paths import with_cluster

# Object stores, as in HadoopFileStore.java: they cannot rename a directory in one step.
_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs"})


def is_object_store(uri: str) -> bool:
    return urlsplit(uri).scheme.lower() in _OBJECT_STORES


def unpublishable(directory: str, flag: str | None, part: Sequence[str] = ()) -> str | None:
    """Why a directory cannot appear at this URI in one step; None if it can. `flag` is the file
    that readers wait for, `part` the source's part of the directory (empty: all of it).
    """
    if not is_object_store(directory):
        return None
    scheme = urlsplit(directory).scheme.lower()
    if flag is None:
        return (
            f"{scheme} does not rename a directory in one step: readers would see half of an"
            " instance, unless the feed has an availabilityFlag that they wait for"
        )
    if part:
        return f"{scheme} does not rename a directory in one step, so it has one source, as a whole"
    return None


def path_at(template: str, time: datetime, cluster: Cluster | None) -> str:
    """A feed's directory at `time`: date and cluster variables filled in, on the cluster's file
    system.
    """
    template = with_cluster(template, cluster)
    utc = time.astimezone(UTC)
    for name, code in (
        ("YEAR", "%Y"),
        ("MONTH", "%m"),
        ("DAY", "%d"),
        ("HOUR", "%H"),
        ("MINUTE", "%M"),
    ):
        template = template.replace(f"${{{name}}}", utc.strftime(code))
    if "://" in template or template.startswith("file:"):
        return template
    write = urlsplit((cluster.endpoint("write") if cluster else None) or "file:///")
    root = f"{write.scheme}://{write.netloc}{write.path.rstrip('/')}"
    return f"{root}/{template.lstrip('/')}"
