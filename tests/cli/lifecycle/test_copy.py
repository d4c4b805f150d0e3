"""`causeway copy` over fakes; more runs in tests/e2e/copies/test_copy.py."""

import argparse
import io
import json
import sys
import time
from pathlib import Path

import pytest

from cli.lifecycle import copy
from cli.lifecycle.work_observer import WorkObserver
from conf.settings.operating import Operating
from conf.settings.settings import Settings
from conf.settings.telemetry import TelemetrySettings
from conf.topology import Cluster, Topology
from database.history.history_store import HistoryStore
from metastore.view.inbound.ownership import OrphanFolder
from metastore.view.server.orphans_store import OrphanLog
from pipeline.errors import BadFilter, NotCopyable
from tests.pipeline.copy.world import C1, C2, T, World
from tests.telemetry.receivers import receiver


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_sweep_tells_what_it_kept_of_what_drops_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    world = World()
    world.add("1", a="rows")
    world.copy()
    used, record = world.fresh()["ds=1"], tmp_path / "leftovers.jsonl"
    log = OrphanLog(record)
    for what, location in (("db.old", used), ("db.gone", "hdfs://c2/gone")):
        log.end(log.begin((OrphanFolder(what, C2, location),)), dropped=True)
    world.files.write("hdfs://c2/gone/file", b"rows")
    topology = Topology({n: Cluster(n, f"hdfs://{n}", ()) for n in (C1, C2)}, default=C1)
    parser = argparse.ArgumentParser()
    copy.configure(parser)
    words = ["sweep", "--conf", "any", "--grace", "0", "--leftovers", str(record), *form]
    settings = Settings(metastores=(), topology=topology)
    command = copy.CopyCommand(parser.parse_args(words), settings, world.objects, world.files)
    assert command.sweep(None) == 0
    out = capsys.readouterr().out
    if form:
        left = json.loads(out.splitlines()[-1])["leftovers"]
        assert left == {"deleted": ["hdfs://c2/gone"], "kept": {used: "db.t@ds=1 uses it"}}
    else:
        assert out.splitlines()[1:] == [
            "orphans of drops: 1 deleted, 1 kept",
            f"  {used}: db.t@ds=1 uses it",
        ]
    assert not world.files.exists("hdfs://c2/gone")
    assert world.files.exists(used)


@pytest.mark.slow
def test_what_was_copied_is_in_the_history_and_the_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, store = World(), str(tmp_path / "history.db")
    world.add("1", a="rows")
    topology = Topology({n: Cluster(n, f"hdfs://{n}", ()) for n in (C1, C2)}, default=C1)
    parser = argparse.ArgumentParser()
    copy.configure(parser)
    args = parser.parse_args(["db.t", "--to", "C2", "--conf", "any", "--json"])
    with receiver() as there:
        settings = Settings(
            topology=topology,
            operating=Operating(history_store=store),
            telemetry=TelemetrySettings(there.traces_url),
        )
        with WorkObserver(settings) as observer:
            command = copy.CopyCommand(args, settings, world.objects, world.files, observer.record)
            assert command.make(T) == 0
            while any(each.waiting for each in observer.queues.values()):
                time.sleep(0.01)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert "copied" not in report
    (found,) = HistoryStore(store).answer("copies", {})["copies"]
    assert (found["table"], found["from"], found["to"]) == ("db.t", "C1", "C2")
    assert (found["run"], found["sent"]) == (report["run"], report["bytes_sent"])
    assert there.spans["copy db.t C1 C2"].trace_id.hex() == found["trace"] == found["copy"]


def command(world: World, *words: str) -> copy.CopyCommand:
    topology = Topology({n: Cluster(n, f"hdfs://{n}", ()) for n in (C1, C2)}, default=C1)
    parser = argparse.ArgumentParser()
    copy.configure(parser)
    args = parser.parse_args([*words, "--to", "C2", "--conf", "any"])
    return copy.CopyCommand(args, Settings(topology=topology), world.objects, world.files)


@pytest.mark.parametrize("option", [[], ["--plan"]])
def test_the_summary_names_partitions_that_the_table_lacks(
    capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    world = World()
    world.add("1", a="rows")
    named = "ds in ('0', '1', '2', '3', '4')"
    assert command(world, "db.t", "--partition", named, *option).make(T) == 0
    warning = "warning: 4 named partitions are not in the table: ds=0, ds=2, ds=3 and 1 more"
    assert capsys.readouterr().out.splitlines()[-1] == warning
    assert command(world, "db.t", "--partition", named, *option, "--json").make(T) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["absent"] == ["ds=0", "ds=2", "ds=3", "ds=4"]


def test_named_partitions_none_of_which_exists_are_an_error() -> None:
    world = World()
    world.add("1", a="rows")
    with pytest.raises(NotCopyable, match="no partition that is named: ds=2"):
        command(world, "db.t", "--partition", "ds = '2'").make(T)


def test_a_range_without_partitions_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.add("1", a="rows")
    assert command(world, "db.t", "--partition", "ds > '5'").make(T) == 0
    assert "0 copied" in capsys.readouterr().out


def test_the_partitions_in_a_list_are_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, listed = World(), "ds=1\nds=3\nds=5\n"
    for day in ("1", "2", "3"):
        world.add(day, a=f"rows of {day}")
    (tmp_path / "names").write_text(listed)
    for file in ("-", str(tmp_path / "names")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(listed.encode())))
        assert command(world, "db.t", "--partition-names", file, "--json").make(T) == 0
        result = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert result["absent"] == ["ds=5"]
    assert sorted(world.fresh()) == ["ds=1", "ds=3"]


@pytest.mark.parametrize("data", [b"ds=\xff", None], ids=["not UTF-8", "no file"])
def test_a_list_that_cannot_be_read_is_an_error(tmp_path: Path, data: bytes | None) -> None:
    world, file = World(), tmp_path / "names"
    world.add("1", a="rows")
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(BadFilter, match="cannot be read"):
        command(world, "db.t", "--partition-names", str(file)).make(T)
