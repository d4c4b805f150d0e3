"""The statements of a dashboard over a small star schema, no two with the same text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

DATABASE = "dashboard"
DAYS = 30
_COLUMNS = "id BIGINT, shop INT, product INT, amount DOUBLE"

SCHEMA: Sequence[str] = (
    f"DROP DATABASE IF EXISTS {DATABASE} CASCADE",
    f"CREATE DATABASE {DATABASE}",
    f"CREATE TABLE {DATABASE}.shops USING parquet AS"
    " SELECT CAST(id AS INT) AS shop, concat('shop ', id) AS name,"
    " concat('city ', id % 10) AS city FROM range(100)",
    f"CREATE TABLE {DATABASE}.products USING parquet AS"
    " SELECT CAST(id AS INT) AS product, concat('product ', id) AS title,"
    " concat('kind ', id % 7) AS kind FROM range(200)",
    f"CREATE TABLE {DATABASE}.sales ({_COLUMNS}, day STRING) USING parquet PARTITIONED BY (day)",
    f"INSERT INTO {DATABASE}.sales SELECT id, CAST(id % 100 AS INT), CAST(id % 200 AS INT),"
    f" id / 7.0, format_string('2026-01-%02d', id % {DAYS} + 1) FROM range(30000)",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of statement: `text` of its n-th one."""

    name: str
    text: Callable[[int], str]


def _day(number: int) -> str:
    return f"2026-01-{number % DAYS + 1:02}"


LITERAL = Question("literal", lambda n: f"SELECT {n} AS n")
LIMIT = Question("LIMIT", lambda n: f"SELECT * FROM {DATABASE}.shops LIMIT {n % 90_000 + 1}")
POINT = Question(
    "point select", lambda n: f"SELECT name, city FROM {DATABASE}.shops WHERE shop = {n}"
)
STAR = Question(
    "star join, one partition",
    lambda n: (
        f"SELECT s.city, p.kind, sum(f.amount) AS amount FROM {DATABASE}.sales f"
        f" JOIN {DATABASE}.shops s ON f.shop = s.shop"
        f" JOIN {DATABASE}.products p ON f.product = p.product"
        f" WHERE f.day = '{_day(n)}' AND f.id > {n} GROUP BY s.city, p.kind"
    ),
)
SHOW_TABLES = Question("SHOW TABLES", lambda n: f"SHOW TABLES IN {DATABASE} LIKE '*s|x{n}'")
DESCRIBE = Question("DESCRIBE", lambda n: f"DESCRIBE {DATABASE}.shops -- {n}")
QUESTIONS = (LITERAL, LIMIT, POINT, STAR, SHOW_TABLES, DESCRIBE)
