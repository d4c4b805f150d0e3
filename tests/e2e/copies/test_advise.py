"""`causeway advise` against the stack: after it applies advice a statement runs, until undo."""

import json
from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.main import main
from tests.e2e.conftest import C1, C2, Sql, Tables

pytestmark = pytest.mark.e2e


def test_apply_lets_a_refused_statement_run_and_undo_takes_it_back(
    db: str, sql: Sql, tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for home, table in ((C1, "few"), (C2, "many")):
        sql(
            f"USE CLUSTER {home}",
            f"CREATE TABLE {db}.{table} (id INT) USING parquet",
            f"INSERT INTO {db}.{table} VALUES (1)",
        )
    join = f"SELECT few.id FROM {db}.few JOIN {db}.many USING (id)"
    with pytest.raises(OperationalError, match=rf"CW104.*ALTER TABLE {db}\.\w+ COPY"):
        sql(join)
    log = tmp_path / "log.sql"
    log.write_text(f"{join}; SELECT count(*) FROM {db}.few;")
    target = ["--conf", str(tables.stack.layout.settings), "--record", str(tmp_path / "r.json")]
    capsys.readouterr()
    assert main(["advise", str(log), *target, "--share", "1", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    (only,) = planned["advice"]
    assert (planned["share_today"], planned["share_then"], only["action"]) == (0.5, 1.0, "make")
    assert main(["advise", str(log), *target, "--share", "1", "--apply"]) == 0
    assert sql(join) == [(1,)]
    assert main(["advise", str(log), *target, "--undo"]) == 0
    with pytest.raises(OperationalError, match="CW104"):
        sql(join)


def test_a_primary_is_assigned_to_the_cluster_of_the_files(
    db: str, sql: Sql, tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql(
        f"USE CLUSTER {C1}",
        *(f"CREATE TABLE {db}.{table} (id INT) USING parquet" for table in ("few", "many")),
        *(f"INSERT INTO {db}.{table} VALUES (1)" for table in ("few", "many")),
    )
    target = ["--conf", str(tables.stack.layout.settings)]
    assert main(["table", "assign", f"{db}.few", "--primary", C2, *target]) == 0
    join = f"SELECT few.id FROM {db}.few JOIN {db}.many USING (id)"
    with pytest.raises(OperationalError, match="CW104"):
        sql("USE CLUSTER", join)
    (tmp_path / "log.sql").write_text(join)
    target += ["--record", str(tmp_path / "r.json")]
    capsys.readouterr()
    words = ["advise", str(tmp_path / "log.sql"), "--primaries", *target]
    assert main([*words, "--budget", f"{C2}=0", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["primaries"]
    assert (only["to"], only["files_stay"]) == (C1, True)
    assert main([*words, "--budget", f"{C2}=0", "--apply"]) == 0
    assert sql(join) == [(1,)]
    assert main(["advise", *target, "--undo"]) == 0
    with pytest.raises(OperationalError, match="CW104"):
        sql(join)
