"""`causeway table` and `causeway metastore upgrade|verify|downgrade` as a user runs them."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from conf.formats import utc
from conf.names import ClusterName, TableRef
from conf.placement import OpenWrite, read_placement, write_mark
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.placement.placement_store import PlacementStore
from tests.applications import answering, of_master
from tests.metastore.fake import FakeMetastore

C1 = ClusterName("C1")
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


@pytest.mark.slow
def test_assign_and_show(run: Run) -> None:
    stated = ("--primary", "C1", "--copy", "C2=file:///C2/t")
    assert run("table", "assign", "default.t", *stated)[0] == 0
    status, printed, _ = run("table", "show", "default.t", "--json")
    assert status == 0
    shown = json.loads(printed)
    (copy,) = shown.pop("copies")
    copied = copy.pop("copied")
    assert copied.endswith("Z")
    assert copy == {
        "cluster": "C2",
        "location": "file:///C2/t",
        "fresh": True,
        "stale_since": None,
        "files": None,
        "bytes": None,
    }
    home, away = shown.pop("clusters")
    assert (home["cluster"], home["state"], home["copied"]) == ("C1", "primary", None)
    assert (away["cluster"], away["state"], away["copied"]) == ("C2", "fresh", copied)
    assert shown == {
        "table": "default.t",
        "primary": "C1",
        "location": "file:/w/t",
        "written": None,
        "writes": [],
    }
    assert "primary C1, copies C2" in run("table", "show", "T")[1]


@pytest.mark.slow
def test_partitions(run: Run) -> None:
    stated = ("--partition", "ds=1", "--primary", "C2", "--copy", "C1=file:///C1/p1")
    assert "1 partitions assigned" in run("table", "assign", "default.p", *stated)[1]
    _, printed, _ = run("table", "show", "default.p", "--json", "--partition", "ds=1")
    (partition,) = json.loads(printed)["partitions"]
    assert (partition["partition"], partition["primary"]) == ("ds=1", "C2")
    assert partition["copies"][0]["location"] == "file:///C1/p1"
    assert "29 partitions: primary C1, copies none" in run("table", "show", "default.p")[1]


@pytest.mark.slow
def test_the_lag_of_stale_copies(run: Run, metastore: FakeMetastore) -> None:
    for number in (1, 2):
        run(*f"table assign default.p --partition ds={number} --copy C2=file:/C2/{number}".split())
    with HmsClient([metastore.endpoint], 60) as client:
        facts = PlacementStore(client, ClusterName("C1"))
        for began in (time.time() - 100, time.time() - 50):
            facts.open_write(TableRef("default", "p"), "w", ["ds=1"], began, "me")
            facts.close_write(TableRef("default", "p"), "w", ["ds=1"])
    _, printed, _ = run("table", "show", "default.p", "--json")
    shown = json.loads(printed)
    (away,) = (each for each in shown["clusters"] if each["cluster"] == "C2")
    assert [away[each] for each in ("fresh", "stale", "absent", "unknown")] == [1, 1, 28, 0]
    assert 99 < away["lag"] < 160
    copies = {each["partition"]: each["copies"] for each in shown["partitions"]}
    assert copies["ds=1"][0]["stale_since"] == away["stale_since"]
    assert copies["ds=2"][0]["stale_since"] is None
    assert f"C2: 1 of 30 stale since {away['stale_since']}" in run("table", "show", "default.p")[1]


def test_an_error_is_one_line(run: Run) -> None:
    status, _, printed = run("table", "assign", "default.t", "--primary", "C9")
    assert status == 1
    assert printed == "causeway: [CW313] no cluster C9; there are C1, C2.\n"


def test_the_writes_that_run_are_listed(run: Run, metastore: FakeMetastore) -> None:
    now = round(time.time())
    with HmsClient((metastore.endpoint,)) as client:
        store = PlacementStore(client, ClusterName("C1"))
        store.open_write(TableRef("default", "t"), "old", None, now - 7200, "proxy:1")
        store.open_write(TableRef("default", "p"), "new", ["ds=1", "ds=2"], now, "proxy:2")
    status, printed, _ = run("table", "writes")
    assert status == 0
    assert printed.splitlines() == [
        f"default.p: written by proxy:2 since {utc(now)}, 2 partitions (id new)",
        f"default.t: written by proxy:1 since {utc(now - 7200)} (id old)",
    ]
    (old,) = json.loads(run("table", "writes", "--older", "1h", "--json")[1])
    assert old == {
        "table": "default.t",
        "id": "old",
        "by": "proxy:1",
        "application": "",
        "since": now - 7200,
        "partitions": None,
        "ended": False,
    }


def test_marks_of_applications_that_have_ended_are_removed(
    metastore: FakeMetastore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Table(metastore.tables[TableRef("default", "t")])
    marks = [OpenWrite(name, 1.0, "a job", None, f"app-{name}") for name in ("a", "b")]
    found.parameters = {key: text for each in marks for key, text in write_mark(each).items()}
    with answering({"/json/": of_master("app-a", "KILLED", 0, 1)}) as url:
        conf = tmp_path / "causeway.toml"
        conf.write_text(f"""\
hive.metastore.uris = "thrift://{metastore.endpoint}"
hive.default.cluster.name = "C1"
[hive.cluster.properties.C1]
FileSystem = "file:///C1"
JobTracker = "127.0.0.1:1"
SparkMaster = "{url}"
""")
        assert main(["table", "writes", "--end-dead", "--conf", str(conf)]) == 0
    since = f"since {utc(1)}"
    assert capsys.readouterr().out.splitlines() == [
        f"default.t: written by a job {since} (id a): it has ended, the mark is removed",
        f"default.t: written by a job {since} (id b)",
    ]
    kept = read_placement(Table(metastore.tables[TableRef("default", "t")]).parameters, C1)
    assert [each.id for each in kept.open] == ["b"]


@pytest.mark.slow
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
