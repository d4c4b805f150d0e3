"""Hadoop settings of endpoints as settings of one Spark session."""

import pytest

from pipeline.copy.endpoints import session_settings
from pipeline.errors import BadEndpoints


def test_settings_of_two_buckets_do_not_mix() -> None:
    endpoints = {
        "lake": {"fs.s3a.access.key": "a", "fs.s3a.impl": "x"},
        "*": {"fs.s3a.access.key": "b"},
    }
    assert session_settings(endpoints, ["s3a://lake/t", "s3a://pond/t"]) == {
        "spark.hadoop.fs.s3a.bucket.lake.access.key": "a",
        "spark.hadoop.fs.s3a.bucket.pond.access.key": "b",
        "spark.hadoop.fs.s3a.impl": "x",
    }


def test_a_buckets_own_setting_comes_before_the_general_one() -> None:
    settings = {"fs.s3a.bucket.lake.endpoint": "own", "fs.s3a.endpoint": "general"}
    assert session_settings({"lake": settings}, ["s3a://lake/t"]) == {
        "spark.hadoop.fs.s3a.bucket.lake.endpoint": "own"
    }


def test_files_of_this_machine_need_no_settings() -> None:
    endpoints = {"*": {"dfs.replication": "2"}}
    assert session_settings(endpoints, ["/data/t", "file:///data/t"]) == {}


def test_the_default_file_system_of_the_session_stays() -> None:
    endpoints = {"*": {"fs.defaultFS": "hdfs://nn1:8020", "dfs.replication": "2"}}
    expected = {"spark.hadoop.dfs.replication": "2"}
    assert session_settings(endpoints, ["hdfs://nn1:8020/t"]) == expected


def test_settings_that_one_session_cannot_have_are_refused() -> None:
    endpoints = {"nn1": {"dfs.nameservices": "a"}, "nn2": {"dfs.nameservices": "b"}}
    with pytest.raises(
        BadEndpoints, match="nameservices differs between the settings of hdfs://nn2"
    ):
        session_settings(endpoints, ["hdfs://nn1/t", "hdfs://nn2/t"])
