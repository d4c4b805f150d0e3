"""Runs the import or export of an instance, while its lease lasts."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, functions

from pipeline.errors import ActionFailed
from pipeline.exchange import rows as conversions
from pipeline.exchange.database import JdbcDatabase, stopped_on_loss
from pipeline.exchange.rows import Columns
from pipeline.exchange.sql import Merge, Window
from pipeline.falcon.entities.datasource import DatasourceInterface
from pipeline.falcon.entities.feed import Exchange
from pipeline.falcon.rules.exchange_rules import FETCH_SIZE, MAPPERS, SPLIT_BY, keys_of
from pipeline.lease import WorkLease


@dataclass(frozen=True, slots=True)
class ExchangeRun:
    """One import or export. `instance` is its unique name; `window` has the times of its rows."""

    exchange: Exchange
    interface: DatasourceInterface
    instance: str
    window: Window


def import_rows(
    session: SparkSession,
    run: ExchangeRun,
    location: str,
    form: str,
    columns: Columns | None,
    lease: WorkLease,
) -> int:
    """Writes the rows of an instance into a new directory in a format of Spark; returns their
    number. `columns` are those of the feed's table; None: those of the database. Raises
    ActionFailed.
    """
    database = JdbcDatabase.open(session, run.interface)
    with database.errors(), stopped_on_loss(session, lease):
        rows = conversions.with_columns(
            _rows_of(database, run), run.exchange.includes, run.exchange.excludes
        )
        rows = conversions.with_plain_times(rows)
        if columns is not None:
            rows = conversions.as_table(rows, columns)
        rows.write.format(form).mode("error").save(location)
        return session.read.format(form).load(location).count()


def _rows_of(database: JdbcDatabase, run: ExchangeRun) -> DataFrame:
    """The rows of the instance's window; for a full import all rows of the table."""
    exchange = run.exchange
    table = exchange.table
    if exchange.extract == "incremental":
        kinds = {field.name.lower(): field.dataType for field in database.read(table).schema}
        kind = kinds.get(exchange.delta.lower())
        if kind is None:
            raise ActionFailed(f"{table} has no column {exchange.delta}", final=True)
        column = database.names(table)[exchange.delta.lower()]
        table = run.window.rows_of(table, column, kind.simpleString())
    return database.read(table, **_split(database, exchange, table))


def _split(database: JdbcDatabase, exchange: Exchange, table: str) -> dict[str, str]:
    """Spark's options for the number of connections, each of which reads a range of the column
    `--split-by`, and for the fetch size.
    """
    size = exchange.argument(FETCH_SIZE)
    options = {"fetchsize": size} if size else {}
    count, column = exchange.argument(MAPPERS), exchange.argument(SPLIT_BY)
    if count in (None, "1") or column is None:
        return options
    split = database.names(table).get(column.lower(), column)
    ends = f"(SELECT min({split}) causeway_least, max({split}) causeway_most FROM {table}) ends"
    bounds = database.read(ends).first()
    if bounds is None or bounds[0] is None:
        return options
    return options | {
        "partitionColumn": column,
        "lowerBound": str(bounds[0]),
        "upperBound": str(bounds[1]),
        "numPartitions": str(count),
    }


def export_rows(session: SparkSession, run: ExchangeRun, rows: DataFrame, lease: WorkLease) -> int:
    """Merges rows into a table of the database; returns the number of changed rows. Raises
    ActionFailed.
    """
    database, exchange = JdbcDatabase.open(session, run.interface), run.exchange
    keys = keys_of(exchange)
    with database.errors(), stopped_on_loss(session, lease):
        rows = conversions.with_columns(rows, exchange.includes, exchange.excludes)
        if count := exchange.argument(MAPPERS):
            rows = rows.coalesce(int(count))
        _check_keys(rows, keys)
        names = database.names(exchange.table)
        if missing := [each for each in rows.columns if each.lower() not in names]:
            reason = f"{exchange.table} has no column {', '.join(missing)}"
            raise ActionFailed(reason, final=True)
        columns = [names[each.lower()] for each in rows.columns]
        quoted_keys = [names[each.lower()] for each in keys]
        merge = Merge.of(exchange.table, columns, quoted_keys, run.instance)
        _create(database, merge)
        try:
            database.load(rows, merge.staging)
            database.execute([merge.index()], lease.check)
            statements = merge.statements(inserts=exchange.load == "allowinsert")
            return database.execute(statements, lease.check)
        finally:
            _drop(database, merge)


def _check_keys(rows: DataFrame, keys: Sequence[str]) -> None:
    """Raises ActionFailed unless every row has a key, and no two rows have the same."""
    names = {name.lower() for name in rows.columns}
    if missing := [key for key in keys if key.lower() not in names]:
        raise ActionFailed(f"there is no column {', '.join(missing)} to find rows by", final=True)
    empty = functions.lit(False)
    for key in keys:
        empty = empty | functions.col(key).isNull()
    if rows.filter(empty).limit(1).count():
        raise ActionFailed(f"a row has no {' and '.join(keys)}", final=True)
    if rows.groupBy(*keys).count().filter("count > 1").limit(1).count():
        raise ActionFailed(f"two rows have the same {' and '.join(keys)}", final=True)


def _create(database: JdbcDatabase, merge: Merge) -> None:
    """Creates the staging table, after it has dropped one of an earlier attempt."""
    _drop(database, merge)
    first, second = merge.create()
    try:
        with database.errors():
            database.execute([first], _nothing)
    except ActionFailed:
        database.execute([second], _nothing)


def _drop(database: JdbcDatabase, merge: Merge) -> None:
    try:
        with database.errors():
            database.execute([merge.drop()], _nothing)
    except ActionFailed:
        return  # the table does not exist


def _nothing() -> None:
    pass
