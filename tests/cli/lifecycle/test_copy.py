"""What `causeway copy sweep` says, over fakes; the rest runs in tests/e2e/copies/test_copy.py."""

import argparse
import json
from pathlib import Path

import pytest

from cli.lifecycle import copy
from conf.settings.settings import Settings
from conf.topology import Cluster, Topology
from metastore.view.inbound.ownership import Orphan
from metastore.view.server.orphans_store import OrphanLog
from tests.pipeline.copy.world import C1, C2, World


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
        log.end(log.begin((Orphan(what, C2, location),)), dropped=True)
    world.files.write("hdfs://c2/gone/file", b"rows")
    topology = Topology({n: Cluster(n, f"hdfs://{n}", ()) for n in (C1, C2)}, default=C1)
    parser = argparse.ArgumentParser()
    copy.configure(parser)
    words = ["sweep", "--conf", "any", "--grace", "0", "--leftovers", str(record), *form]
    settings = Settings(metastores=(), topology=topology)
    command = copy._Command(parser.parse_args(words), settings, world.objects, world.files)
    assert command.sweep(None) == 0
    out = capsys.readouterr().out
    if form:
        left = json.loads(out.splitlines()[-1])["leftovers"]
        assert left == {"deleted": ["hdfs://c2/gone"], "kept": {used: "db.t@ds=1 uses it"}}
    else:
        assert out.splitlines()[1:] == [
            "1 that drops left deleted, 1 kept",
            f"  {used}: db.t@ds=1 uses it",
        ]
    assert not world.files.exists("hdfs://c2/gone")
    assert world.files.exists(used)
