"""`causeway table` and `causeway metastore upgrade|verify|downgrade` as a user runs them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from conf.names import TableRef
from metastore.client.types import Table
from tests.metastore.fake import FakeMetastore

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def metastore():  # type: ignore[no-untyped-def]
    fake = FakeMetastore()
    fake.add(Table.make(TableRef("default", "t"), [("id", "int")], location="file:/w/t"))
    keys = [("ds", "string")]
    parted = Table.make(TableRef("default", "p"), [], location="file:/w/p", partition_keys=keys)
    fake.add(parted, *((f"ds={number}", {}) for number in range(30)))
    yield fake
    fake.stop()


@pytest.fixture
def run(metastore: FakeMetastore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    clusters = {
        name: {"hs2": "127.0.0.1:1", "filesystem": f"file:///{name}", "metastore": "127.0.0.1:2"}
        for name in ("C1", "C2")
    }
    endpoints = {
        "proxy": {"host": "127.0.0.1", "port": 1},
        "metastore": {"uri": f"thrift://{metastore.endpoint}"},
        "clusters": clusters,
    }
    file = tmp_path / "endpoints.json"
    file.write_text(json.dumps(endpoints))

    def run(*words: str) -> tuple[int, str, str]:
        status = main([*words, "--endpoints", str(file)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_assign_and_show(run: Run) -> None:
    stated = ("--primary", "C1", "--copy", "C2=file:///C2/t")
    assert run("table", "assign", "default.t", *stated)[0] == 0
    status, printed, _ = run("table", "show", "default.t", "--json")
    assert status == 0
    assert json.loads(printed) == {
        "table": "default.t",
        "primary": "C1",
        "location": "file:/w/t",
        "copies": [{"cluster": "C2", "location": "file:///C2/t", "fresh": True}],
        "writes": [],
    }
    assert "primary C1, copies C2" in run("table", "show", "T")[1]


def test_partitions(run: Run) -> None:
    stated = ("--partition", "ds=1", "--primary", "C2", "--copy", "C1=file:///C1/p1")
    assert "1 partitions assigned" in run("table", "assign", "default.p", *stated)[1]
    _, printed, _ = run("table", "show", "default.p", "--json", "--partition", "ds=1")
    (partition,) = json.loads(printed)["partitions"]
    assert (partition["partition"], partition["primary"]) == ("ds=1", "C2")
    assert partition["copies"][0]["location"] == "file:///C1/p1"
    assert "29 partitions: primary C1, copies none" in run("table", "show", "default.p")[1]


def test_an_error_is_one_line(run: Run) -> None:
    status, _, printed = run("table", "assign", "default.t", "--primary", "C9")
    assert status == 1
    assert printed == "causeway: [CW313] no cluster C9; there are C1, C2.\n"


def test_upgrade_verify_downgrade(run: Run) -> None:
    status, _, printed = run("metastore", "verify")
    assert status == 1
    assert "[CW312] 32 objects lack a primary" in printed
    assert "would have got a primary" in run("metastore", "upgrade", "--dry-run")[1]
    assert run("metastore", "verify")[0] == 1
    status, printed, _ = run("metastore", "upgrade")
    assert status == 0
    assert printed.splitlines() == [
        "2 tables, 30 partitions, 0 views (views have no cluster)",
        "2 tables and 30 partitions got a primary cluster",
    ]
    status, printed, _ = run("metastore", "verify", "--json")
    assert (status, json.loads(printed)["partitions"]) == (0, 30)
    assert "30 partitions got" in run("metastore", "upgrade", "--every-partition")[1]
    assert "2 tables and 30 partitions lost" in run("metastore", "downgrade")[1]
    assert run("metastore", "verify")[0] == 1


def test_upgrade_needs_a_default_cluster(
    run: Run, metastore: FakeMetastore, tmp_path: Path, capsys
) -> None:  # type: ignore[no-untyped-def]
    conf = tmp_path / "causeway.toml"
    conf.write_text(f'hive.metastore.uris = "thrift://{metastore.endpoint}"\n')
    assert main(["metastore", "upgrade", "--conf", str(conf)]) == 1
    assert "[CW310] hive.default.cluster.name is not set" in capsys.readouterr().err
    assert not any(name.startswith("alter") for name in metastore.calls)
