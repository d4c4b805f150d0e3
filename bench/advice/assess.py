"""`causeway assess` over 100,000 distinct statements made of the 99 queries of TPC-DS."""

import json
import os
import resource
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from cli.main import main as causeway
from tests.e2e.support import tpcds

STATEMENTS = int(os.environ.get("STATEMENTS", "100000"))


def main() -> None:
    queries = [text for _, text in tpcds.queries()]
    tables = [
        {
            "ddl": f"CREATE TABLE tpcds.{name} ("
            + ", ".join(f"{column} {kind}" for column, kind in tpcds.column_types(name).items())
            + ") USING parquet",
            "primary": ("east", "west", "north")[number % 3],
            "bytes": (tpcds.SHARED / f"{name}.csv.gz").stat().st_size,
        }
        for number, name in enumerate(tpcds.table_names())
    ]
    with tempfile.TemporaryDirectory() as folder:
        log, stock = Path(folder) / "log.jsonl", Path(folder) / "tables.json"
        stock.write_text(
            json.dumps({"clusters": ["east", "west", "north"], "tables": tables}), encoding="utf-8"
        )
        with log.open("w", encoding="utf-8") as file:
            for number in range(STATEMENTS):
                text = queries[number % len(queries)].replace("LIMIT 100", f"LIMIT {number}")
                line = {"text": f"{text} -- {number}", "time": 1.77e9 + number, "database": "tpcds"}
                file.write(json.dumps(line) + "\n")
        began = time.monotonic()
        out = StringIO()
        with redirect_stdout(out):
            causeway(["assess", str(log), "--tables", str(stock), "--json"])
        waited = time.monotonic() - began
    found = json.loads(out.getvalue())
    used = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    print(
        f"{found['statements']:,} statements, {found['texts']:,} texts, {found['templates']:,}"
        f" templates: {waited:.0f} s, {used:.0f} s of processor in all; {found['verdicts']}"
    )
