"""Partitioned tables with rows, and queries of them in which conditions prune partitions."""

from datetime import date

from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet

SALES = [
    (number, f"v{number % 5}", day, hour)
    for number, (day, hour) in enumerate(
        (day, hour)
        for day in ("2020-01-01", "2020-01-02", "2020-02-01", None)
        for hour in (0, 1, 11)
        for _ in range(3)
    )
]
SHOPS = [
    (number, f"n{number}", day) for number, day in enumerate(["2020-01-01", "2020-01-02", "x"])
]
VISITS = [
    (number, day, open_, code)
    for number, (day, open_, code) in enumerate(
        (day, open_, code)
        for day in (date(2020, 1, 1), date(2020, 1, 2), date(2019, 12, 31), None)
        for open_ in (True, False)
        for code in (1, 9_999_999_999)
    )
]
VIEW = "SELECT id, v, ds AS day, hr FROM sales WHERE hr < 11"

QUERIES = [
    "SELECT * FROM sales WHERE ds = '2020-01-01'",
    "SELECT * FROM sales WHERE ds = '2020-01-01' AND hr = '1'",
    "SELECT * FROM sales WHERE ds <> '2020-01-01'",
    "SELECT * FROM sales WHERE ds IS NULL OR hr = 11",
    "SELECT * FROM sales WHERE NOT (ds = '2020-01-01' OR hr > 0)",
    "SELECT * FROM sales WHERE ds <=> NULL",
    "SELECT * FROM sales WHERE ds IN ('2020-01-01', '2020-02-01') AND hr BETWEEN 1 AND 11",
    "SELECT * FROM sales WHERE ds NOT IN ('2020-01-01', NULL)",
    "SELECT * FROM sales WHERE ds LIKE '2020-01-%' AND hr % 2 = 1",
    "SELECT * FROM sales WHERE (ds, hr) IN (('2020-01-01', 0), ('2020-01-02', 11))",
    "SELECT * FROM sales WHERE substr(ds, 6, 2) = '02' OR (id = 3 AND hr = 0)",
    "SELECT * FROM sales WHERE CASE WHEN hr = 11 THEN ds > '2020-01-15' ELSE false END",
    "SELECT * FROM sales WHERE year(ds) = 2020 AND month(ds) = 1",
    "SELECT * FROM sales WHERE ds >= date_sub('2020-01-03', 1)",
    "SELECT * FROM sales WHERE coalesce(ds, 'none') = 'none'",
    "SELECT * FROM sales WHERE hr = '01' OR hr = 1.0",
    "SELECT * FROM sales WHERE ds = 20200101",
    "SELECT * FROM sales WHERE 1 = 2 OR hr IS NULL",
    "SELECT count(*) FROM sales WHERE ds > '2020-01-01' HAVING count(*) > 0",
    "SELECT ds, count(*) c FROM sales GROUP BY ds HAVING ds = '2020-01-02'",
    "SELECT * FROM (SELECT ds AS d, max(id) m FROM sales GROUP BY ds) WHERE d = '2020-02-01'",
    "SELECT * FROM (SELECT ds, hr, count(*) FROM sales GROUP BY ROLLUP (ds, hr)) WHERE ds IS NULL",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY ds ORDER BY id) r FROM sales)"
    " WHERE r = 1 AND ds = '2020-01-01'",
    "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY ds, hr, id) r FROM sales)"
    " WHERE ds = '2020-01-02'",
    "SELECT * FROM (SELECT * FROM sales ORDER BY id LIMIT 4) WHERE hr = 1",
    "SELECT * FROM sales s JOIN shops p ON s.ds = p.ds WHERE p.ds = '2020-01-02'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds WHERE p.ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds WHERE p.ds IS NULL",
    "SELECT * FROM shops p RIGHT JOIN sales s ON s.ds = p.ds AND s.hr = 1",
    "SELECT * FROM sales s FULL JOIN shops p ON s.ds = p.ds WHERE s.hr = 0",
    "SELECT * FROM sales s FULL JOIN shops p ON s.ds = p.ds AND s.hr = 0 AND p.ds = 'x'",
    "SELECT * FROM sales s LEFT SEMI JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
    "SELECT * FROM shops p LEFT ANTI JOIN sales s ON s.ds = p.ds AND s.hr = 1",
    "SELECT * FROM sales JOIN shops USING (ds) WHERE ds = '2020-01-01'",
    "SELECT * FROM sales WHERE ds IN (SELECT ds FROM shops WHERE ds < '2020-01-02')",
    "SELECT * FROM sales WHERE ds NOT IN (SELECT ds FROM shops WHERE ds < '2020-01-02')",
    "SELECT * FROM shops p WHERE EXISTS (SELECT 1 FROM sales s WHERE s.ds = p.ds AND s.hr = 11)"
    " AND p.ds = '2020-01-01'",
    "SELECT * FROM shops p WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.ds = p.ds)"
    " AND p.ds <> '2020-01-01'",
    "SELECT * FROM sales WHERE ds = (SELECT max(ds) FROM shops WHERE ds < 'x')",
    "SELECT * FROM (SELECT ds d FROM sales UNION ALL SELECT ds FROM shops) WHERE d = '2020-01-02'",
    "SELECT ds FROM sales WHERE hr = 0 EXCEPT SELECT ds FROM shops",
    "SELECT * FROM (SELECT ds FROM sales EXCEPT SELECT ds FROM shops) WHERE ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds FROM sales EXCEPT ALL SELECT ds FROM shops) WHERE ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds FROM sales INTERSECT SELECT ds FROM shops INTERSECT ALL"
    " SELECT ds FROM sales) WHERE ds = '2020-01-01'",
    "SELECT ds FROM sales INTERSECT SELECT ds FROM shops WHERE ds > '2020-01-01'",
    "SELECT * FROM late WHERE day = '2020-01-01'",
    "SELECT * FROM late l JOIN shops p ON l.day = p.ds AND p.name = 'n1' WHERE l.hr = 1",
    "WITH a AS (SELECT * FROM sales WHERE hr = 1), b AS (SELECT * FROM a WHERE ds > '2020-01-01')"
    " SELECT * FROM b UNION ALL SELECT * FROM a WHERE ds = '2020-01-01'",
    "WITH sales AS (SELECT * FROM shops) SELECT * FROM sales WHERE ds = 'x'",
    "FROM sales SELECT id WHERE hr = 11",
    "SELECT id, e FROM sales LATERAL VIEW explode(array(hr, 7)) x AS e WHERE e = 7 AND hr = 1",
    "TABLE shops",
    "SELECT * FROM visits WHERE day = '2020-01-01'",
    "SELECT * FROM visits WHERE day > DATE '2019-12-31' AND open",
    "SELECT * FROM visits WHERE NOT open AND code = 1",
    "SELECT * FROM visits WHERE day IS NULL OR code > 5",
    "SELECT * FROM visits WHERE year(day) = 2019 AND open = true",
    "SELECT * FROM visits WHERE day IN (DATE '2020-01-01', '2020-01-02')",
    "SELECT * FROM visits WHERE day BETWEEN '2020-01-01' AND '2020-01-31' AND code IN (1, 2)",
    "SELECT * FROM visits WHERE date_format(day, 'yyyyMM') = '202001'",
    "SELECT * FROM visits WHERE day = date_add('2020-01-01', 1) AND coalesce(open, false)",
    "SELECT * FROM visits v JOIN sales s ON v.day = s.ds WHERE s.ds = '2020-01-01'",
    "SELECT * FROM visits v JOIN visits w ON v.day = w.day AND v.code = w.code"
    " WHERE w.day = '2020-01-02' AND v.code = 1",
    "SELECT * FROM visits v LEFT JOIN visits w ON v.day = w.day AND w.open WHERE v.code = 1",
    "SELECT * FROM visits v FULL JOIN visits w ON v.day = w.day WHERE w.day = '2020-01-01'",
    "SELECT * FROM late l LEFT JOIN late m ON l.day = m.day WHERE l.day = '2020-01-01'",
    "SELECT * FROM late WHERE hr IN (SELECT hr FROM sales WHERE ds = '2020-02-01' AND hr = 1)",
    "SELECT * FROM (SELECT day, hr FROM late UNION SELECT ds, hr FROM sales) WHERE hr = 0",
    "SELECT ds, max(id) FROM sales WHERE hr = 1 GROUP BY ds HAVING ds > '2020-01-01'",
    "SELECT * FROM sales WHERE ds NOT LIKE '2020-01%' OR ds IS NULL",
    "SELECT DISTINCT ds FROM sales WHERE ds RLIKE '^2020-0[12]-01$' AND hr <> 0",
    "SELECT (SELECT max(id) FROM sales WHERE hr = 11) m, name FROM shops WHERE ds = 'x'",
    "SELECT * FROM sales s JOIN (SELECT ds FROM shops WHERE ds = 'x' UNION ALL"
    " SELECT ds FROM shops WHERE ds = '2020-01-01') u ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT DISTINCT ds FROM shops WHERE ds = '2020-01-01') u"
    " ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT ds, max(name) n FROM shops WHERE ds > '2020-01-01'"
    " GROUP BY ds) u ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT '2020-01-01' AS d) c ON s.ds = c.d",
    "WITH c AS (SELECT '2020-01-01' AS d) SELECT * FROM sales, c WHERE ds = d",
    "SELECT * FROM sales s JOIN shops p ON s.ds = p.ds JOIN sales t ON t.ds = p.ds"
    " WHERE t.hr = 1 AND s.ds = '2020-01-01'",
    "SELECT * FROM shops p LEFT JOIN (SELECT * FROM sales WHERE hr = 1) s ON p.ds = s.ds"
    " WHERE p.ds IN ('2020-01-01', 'x')",
    "SELECT * FROM sales s LEFT SEMI JOIN (SELECT ds FROM shops WHERE name = 'n0'"
    " AND ds = '2020-01-01') u ON s.ds = u.ds",
    "SELECT * FROM sales s LEFT ANTI JOIN shops p ON s.ds = p.ds WHERE s.ds = '2020-01-02'",
    "SELECT * FROM sales s JOIN shops p ON substr(s.ds, 1, 10) = p.ds WHERE s.ds = '2020-01-01'",
    "SELECT * FROM sales a JOIN sales b ON a.ds = b.ds AND a.hr = b.hr"
    " WHERE a.ds = '2020-01-01' AND (b.hr = 1 OR b.hr = 11)",
    "SELECT * FROM sales WHERE CASE WHEN id > 3 THEN ds = '2020-01-01' ELSE ds > '2020-01-31' END",
    "SELECT * FROM sales WHERE (ds = '2020-01-01' AND id > 3) OR (ds = '2020-01-02' AND hr = 1)",
    "SELECT * FROM sales WHERE NOT (ds <> '2020-01-01' OR id > 3)",
    "SELECT * FROM sales WHERE if(id > 3, ds, 'x') = '2020-01-01'",
    "SELECT * FROM sales WHERE coalesce(ds, v) = '2020-01-01'",
    "SELECT * FROM sales INTERSECT SELECT * FROM sales WHERE hr = 1",
    "SELECT * FROM (SELECT * FROM sales LATERAL VIEW explode(array(1, 2)) e AS x)"
    " WHERE ds = '2020-01-01' AND x = 1",
    "SELECT * FROM sales s, LATERAL (SELECT max(name) m FROM shops p WHERE p.ds = s.ds)"
    " WHERE s.ds = '2020-01-01'",
    "SELECT * FROM sales s FULL JOIN shops p USING (ds) WHERE ds = '2020-01-01'",
    "SELECT * FROM sales NATURAL JOIN shops WHERE ds = '2020-01-01'",
    "SELECT ds, hr FROM sales GROUP BY ds, hr GROUPING SETS ((ds, hr), (ds))"
    " HAVING ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds, hr, id FROM sales) PIVOT (max(id) FOR hr IN (0, 1))"
    " WHERE ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds AND s.hr = 1"
    " WHERE s.ds > '2020-01-01' AND (p.name = 'n1' OR s.hr = 0)",
    "SELECT * FROM sales s RIGHT JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
]


class QueryTables:
    """The catalog of the tables."""

    def __init__(self) -> None:
        ds, hr = PartitionKey("ds", "string"), PartitionKey("hr", "int")
        columns = (Column("id", "int"), Column("v", "string"))
        names = (Column("sid", "int"), Column("name", "string"))
        self._tables = {
            "sales": TableInfo(
                TableRef("whole", "sales"), TableKind.TABLE, columns, partition_keys=(ds, hr)
            ),
            "shops": TableInfo(
                TableRef("whole", "shops"), TableKind.TABLE, names, partition_keys=(ds,)
            ),
            "visits": TableInfo(
                TableRef("whole", "visits"),
                TableKind.TABLE,
                (Column("vid", "int"),),
                (
                    PartitionKey("day", "date"),
                    PartitionKey("open", "boolean"),
                    PartitionKey("code", "bigint"),
                ),
            ),
            "late": TableInfo(
                TableRef("whole", "late"), TableKind.VIEW, view=ViewText(VIEW, "whole")
            ),
        }

    def table(self, ref: TableRef) -> TableInfo | None:
        return self._tables.get(ref.name) if ref.db == "whole" else None


def partitions_of(name: str) -> PartitionSet:
    """The partitions of a table with its rows."""
    null = "__HIVE_DEFAULT_PARTITION__"
    info = QueryTables().table(TableRef("whole", name))
    assert info is not None
    values = {
        "sales": [(day, hour) for _, _, day, hour in SALES],
        "shops": [(day,) for _, _, day in SHOPS],
        "visits": [(day, str(open_).lower(), code) for _, day, open_, code in VISITS],
    }[name]
    rows = [tuple(null if each is None else str(each) for each in row) for row in values]
    return PartitionSet(info.partition_keys, list(dict.fromkeys(rows)))
