"""The TPC-DS tables and queries of the shared data, typed and in Spark's dialect."""

import csv
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path

import sqlglot

SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[4] / "shared")) / "tpcds"
_RENAMED = {"c_last_review_date_sk": "c_last_review_date"}  # as query 30 calls it
_TITLE = re.compile(r"^-- TPC-DS (\d+)\s*$", re.MULTILINE)
_INT = re.compile(r"-?\d{1,9}(\.0)?")
_DECIMAL = re.compile(r"-?\d{1,13}\.\d{1,2}|-?\d{1,9}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def table_names() -> list[str]:
    return sorted(path.name.removesuffix(".csv.gz") for path in SHARED.glob("*.csv.gz"))


def column_types(table: str) -> dict[str, str]:
    """The narrowest of INT, DECIMAL(15,2), DATE and STRING that fits all of a column's values."""
    with gzip.open(SHARED / f"{table}.csv.gz", "rt", newline="") as lines:
        rows = csv.reader(lines, delimiter="|")
        names = [_RENAMED.get(name, name) for name in next(rows)]
        seen: list[set[str]] = [set() for _ in names]
        for row in rows:
            for values, value in zip(seen, row, strict=True):
                values.add(value)
    return {name: _type(name, values - {""}) for name, values in zip(names, seen, strict=True)}


def _type(name: str, values: set[str]) -> str:
    # Zip codes and the like start with zeros that a number would lose.
    if name.endswith("_zip"):
        return "STRING"
    if not values:
        return "INT" if name.endswith("_sk") else "STRING"
    for pattern, kind in ((_INT, "INT"), (_DECIMAL, "DECIMAL(15,2)"), (_DATE, "DATE")):
        if all(pattern.fullmatch(value) for value in values):
            return kind
    return "STRING"


def load_statements(table: str, database: str) -> tuple[str, str]:
    """A view of the file, and a parquet table made from it with typed columns."""
    types = column_types(table)
    text = ", ".join(f"{name} STRING" for name in types)
    typed = ", ".join(_cast(name, kind) for name, kind in types.items())
    path = (SHARED / f"{table}.csv.gz").as_uri()
    return (
        f"CREATE OR REPLACE TEMPORARY VIEW file_{table} ({text}) USING csv"
        f" OPTIONS (path '{path}', header 'true', sep '|')",
        f"CREATE TABLE {database}.{table} USING parquet AS SELECT {typed} FROM file_{table}",
    )


def _cast(name: str, kind: str) -> str:
    # An integer is written like 2451813.0.
    inner = f"CAST({name} AS DOUBLE)" if kind == "INT" else name
    return f"CAST({inner} AS {kind}) AS {name}"


def queries() -> Iterator[tuple[int, str]]:
    """Number and text, in Spark's dialect, of each of the 99 queries."""
    parts = _TITLE.split((SHARED / "tpc-ds.sql").read_text())
    for number, body in zip(parts[1::2], parts[2::2], strict=True):
        lines = (line for line in body.splitlines() if not line.startswith(("#", "-----")))
        first = sqlglot.parse("\n".join(lines))[0]
        assert first is not None
        yield int(number), first.sql(dialect="spark")
