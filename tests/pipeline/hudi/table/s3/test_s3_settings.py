"""Hadoop's settings of a bucket as arguments of Arrow's client; no settings are guessed."""

import pytest

from pipeline.errors import BadEndpoints
from pipeline.hudi.table.open_storage import open_storage
from pipeline.hudi.table.s3.s3_settings import s3_arguments, s3_bucket, write_headers
from pipeline.hudi.table.s3.s3_storage import S3Storage
from pipeline.hudi.table.storage import LocalStorage

KEYS = {"fs.s3a.access.key": "me", "fs.s3a.secret.key": "secret"}
PROVIDER = "fs.s3a.aws.credentials.provider"
HADOOP = "org.apache.hadoop.fs.s3a"


def arguments(**settings: str):
    found = s3_arguments("lake", settings)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("uri", "bucket"),
    [
        ("s3://lake/a", "lake"),
        ("s3a://lake", "lake"),
        ("s3n://lake/a/b", "lake"),
        ("hdfs://nn/a", None),
        ("/s3a/a", None),
        ("file:///s3", None),
    ],
)
def test_the_bucket_of_a_uri(uri, bucket):
    assert s3_bucket(uri) == bucket


def test_settings_of_the_bucket_come_first():
    found = arguments(
        **KEYS,
        **{
            "fs.s3a.bucket.lake.access.key": "other",
            "fs.s3a.bucket.pond.secret.key": "no",
            "fs.s3a.endpoint.region": "eu-west-1",
        },
    )
    assert (found["access_key"], found["secret_key"]) == ("other", "secret")
    assert found["region"] == "eu-west-1"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"endpoint": "s3:9000"}, ("https", "s3:9000", True)),
        ({"endpoint": "http://s3:9000/"}, ("http", "s3:9000", True)),
        ({"endpoint": "s3", "connection.ssl.enabled": "false"}, ("http", "s3", True)),
        ({"endpoint": "s3", "path.style.access": "true"}, ("https", "s3", False)),
    ],
)
def test_an_endpoint(settings, expected):
    found = arguments(**{f"fs.s3a.{key}": value for key, value in settings.items()})
    names = ("scheme", "endpoint_override", "force_virtual_addressing")
    assert tuple(found[name] for name in names) == expected


def test_credentials_are_searched_for_where_the_settings_have_none():
    assert "access_key" not in arguments()
    assert "access_key" not in arguments(
        **KEYS, **{PROVIDER: "com.amazonaws.auth.EnvironmentVariableCredentialsProvider"}
    )
    assert arguments(**{PROVIDER: f"{HADOOP}.AnonymousAWSCredentialsProvider"})["anonymous"]
    both = f"{HADOOP}.SimpleAWSCredentialsProvider, {HADOOP}.AnonymousAWSCredentialsProvider"
    assert arguments(**KEYS, **{PROVIDER: both})["access_key"] == "me"


@pytest.mark.parametrize(
    "settings",
    [
        {PROVIDER: f"{HADOOP}.auth.AssumedRoleCredentialProvider"},
        {"hadoop.security.credential.provider.path": "jceks://file/x"},
        {"fs.s3a.security.credential.provider.path": "jceks://file/x"},
        {"fs.s3a.bucket.lake.encryption.algorithm": "SSE-C"},
        {"fs.s3a.server-side-encryption-algorithm": "SSE-C"},
        {"fs.s3a.requester.pays.enabled": "true"},
        {"fs.s3a.proxy.host": "proxy"},
    ],
)
def test_settings_that_only_hadoop_supports_are_left_to_hadoop(settings):
    assert s3_arguments("lake", {**KEYS, **settings}) is None
    storage = LocalStorage()  # stands for Hadoop's
    assert open_storage("s3a://lake/t", {"*": settings}, {}, lambda: storage) is storage


def test_each_uri_has_its_storage():
    def no_hadoop():
        raise AssertionError("Hadoop is not needed")

    assert isinstance(open_storage("file:///t", {}, {}, no_hadoop), LocalStorage)
    assert isinstance(open_storage("s3://lake/t", {}, {}, no_hadoop), S3Storage)
    hadoop = LocalStorage()
    assert open_storage("hdfs://nn/t", {}, {}, lambda: hadoop) is hadoop
    # The settings of a bucket replace those of every other one, as in HadoopStorage.
    needs = {"fs.s3a.requester.pays.enabled": "true"}
    assert open_storage("s3a://lake/t", {"*": needs}, {}, lambda: hadoop) is hadoop
    assert isinstance(
        open_storage("s3a://lake/t", {"lake": {}, "*": needs}, {}, no_hadoop), S3Storage
    )
    conf = {f"spark.hadoop.{key}": value for key, value in needs.items()}
    assert open_storage("s3a://lake/t", {}, conf, lambda: hadoop) is hadoop


@pytest.mark.parametrize("attempts", ["many", "0", "-1", "3.5"])
def test_a_bad_number_of_attempts_is_named(attempts):
    with pytest.raises(BadEndpoints, match=f"attempts.maximum={attempts}"):
        arguments(**{"fs.s3a.attempts.maximum": attempts})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {}),
        ({"encryption.algorithm": "AES256"}, {"x-amz-server-side-encryption": "AES256"}),
        (
            {"server-side-encryption-algorithm": "SSE-KMS", "encryption.key": "arn:k"},
            {
                "x-amz-server-side-encryption": "aws:kms",
                "x-amz-server-side-encryption-aws-kms-key-id": "arn:k",
            },
        ),
        ({"acl.default": "BucketOwnerFullControl"}, {"x-amz-acl": "bucket-owner-full-control"}),
    ],
)
def test_headers_of_written_objects(settings, expected):
    assert write_headers("lake", {f"fs.s3a.{k}": v for k, v in settings.items()}) == expected


def test_an_unknown_encryption_is_refused():
    with pytest.raises(BadEndpoints, match="DSSE-KMS"):
        write_headers("lake", {"fs.s3a.bucket.lake.encryption.algorithm": "DSSE-KMS"})
