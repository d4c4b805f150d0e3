"""Opens the storage of a URI: this machine's files and S3 directly, the rest through Hadoop."""

from collections.abc import Callable, Mapping

from pipeline.copy.endpoints import ANY
from pipeline.hudi.table.s3.s3_objects import S3Objects, S3Place
from pipeline.hudi.table.s3.s3_settings import s3_arguments, s3_bucket, write_headers
from pipeline.hudi.table.s3.s3_storage import S3Storage
from pipeline.hudi.table.storage import HudiStorage, LocalStorage, is_local

HADOOP = "spark.hadoop."


def open_storage(
    uri: str,
    endpoints: Mapping[str, Mapping[str, str]],
    spark_conf: Mapping[str, str],
    hadoop: Callable[[], HudiStorage],
) -> HudiStorage:
    """The storage that reads the URI. `endpoints` are Hadoop's settings by authority, as
    `read_endpoints` returns them; they take precedence over those of `spark_conf`
    (`spark.hadoop.KEY`). `hadoop` starts Spark.
    """
    if is_local(uri):
        return LocalStorage()
    bucket = s3_bucket(uri)
    if bucket is None:
        return hadoop()
    arguments = s3_arguments(bucket, _settings(bucket, endpoints, spark_conf))
    return hadoop() if arguments is None else S3Storage(arguments)


def open_writable(
    uri: str, endpoints: Mapping[str, Mapping[str, str]], spark_conf: Mapping[str, str]
) -> tuple[S3Storage, S3Objects] | None:
    """The storage and the objects of the bucket of an S3 URI; None for other URIs, and for a bucket
    whose settings only Hadoop supports.
    """
    bucket = s3_bucket(uri)
    if bucket is None:
        return None
    settings = _settings(bucket, endpoints, spark_conf)
    arguments = s3_arguments(bucket, settings)
    if arguments is None:
        return None
    storage = S3Storage(arguments)
    headers = write_headers(bucket, settings)
    return storage, S3Objects(S3Place.of(bucket, arguments, storage.region, headers))


def _settings(
    bucket: str, endpoints: Mapping[str, Mapping[str, str]], spark_conf: Mapping[str, str]
) -> dict[str, str]:
    general = {
        key.removeprefix(HADOOP): value
        for key, value in spark_conf.items()
        if key.startswith(HADOOP)
    }
    return {**general, **endpoints.get(bucket, endpoints.get(ANY, {}))}
