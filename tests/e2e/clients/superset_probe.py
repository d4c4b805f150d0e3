"""Reads through Superset's models, engine and SQL Lab from HiveServer2 endpoints.

    python superset_probe.py FOLDER DATABASE NAME=URL ..

Runs in an environment of its own (requirements/superset.lock); its metadata is a file in FOLDER.
Prints a JSON object: for each name the answer to each question.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CONFIG = """
SECRET_KEY = "of this test alone"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db?timeout=30"
DB_POLL_INTERVAL_SECONDS = {{"hive": 0.1}}
FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {{"CACHE_TYPE": "NullCache"}}
"""


def main() -> None:
    folder, database, *ways = sys.argv[1:]
    config = Path(folder, "superset_config.py")
    config.write_text(_CONFIG.format(folder=folder))
    os.environ |= {"SUPERSET_CONFIG_PATH": str(config), "SUPERSET_HOME": folder}

    from flask_appbuilder import Model
    from superset.app import create_app
    from superset.extensions import db

    app = create_app()
    found = {}
    with app.app_context():
        Model.metadata.create_all(db.engine)
        for way in ways:
            name, _, url = way.partition("=")
            found[name] = Way(app, name, url, database).answers()
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)  # Superset keeps threads


class Way:
    """An endpoint, as a database of Superset."""

    def __init__(self, app: Any, name: str, url: str, schema: str) -> None:
        from superset.extensions import db
        from superset.models.core import Database

        self._app, self._schema, self._url = app, schema, url
        self._session = db.session
        self._database = Database(database_name=name, allow_dml=True)
        self._database.set_sqlalchemy_uri(url)
        db.session.add(self._database)
        db.session.commit()

    def answers(self) -> dict[str, str]:
        """The answers by question."""
        from superset.sql.parse import Table

        of, schema = self._database, self._schema
        types, parted = Table("types", schema), Table("parted", schema)
        stars: dict[str, Any] = {"limit": 10, "show_cols": True, "latest_partition": True}
        asked: dict[str, Callable[[], Any]] = {
            "engine": lambda: of.db_engine_spec.__name__,
            "ping": lambda: self._ping(),
            "schemas": lambda: {"default", schema} - of.get_all_schema_names(),
            "tables": lambda: sorted(of.get_all_table_names_in_schema(None, schema)),
            "views": lambda: sorted(of.get_all_view_names_in_schema(None, schema)),
            "columns": lambda: of.get_columns(types),
            "columns of a view": lambda: of.get_columns(Table("v", schema)),
            "indexes": lambda: of.get_indexes(parted),
            "comment": lambda: of.get_table_comment(types),
            "key": lambda: of.get_pk_constraint(types),
            "exists": lambda: of.has_table(types),
            "functions": lambda: of.function_names[:20],
            "star": lambda: of.select_star(types, **stars),
            "star of partitions": lambda: of.select_star(parted, **stars),
            "latest partition": lambda: of.db_engine_spec.latest_partition(of, parted),
            "frame": lambda: of.get_df(f"SELECT i, st, d, dt FROM {schema}.types").to_json(),
            "frame of two": lambda: of.get_df("SELECT 1 AS a; SELECT 2 AS b").to_json(),
            "lab": lambda: self._lab("SELECT i, st, ar, m, sr, dt, ts, bi FROM types ORDER BY i"),
            "lab busy": lambda: self._lab(
                "SELECT count(*) AS n FROM range(30000000) WHERE sqrt(id + rand()) >= 0"
            ),
            "lab limited": lambda: self._lab("SELECT id FROM range(1000)", limit=7),
            "lab nothing": lambda: self._lab("SELECT i FROM types WHERE false"),
            "lab two": lambda: self._lab("SET x.y = 1; SELECT '${x.y}' AS value"),
            "lab explain": lambda: self._lab("EXPLAIN SELECT 1"),
            "lab show": lambda: self._lab("SHOW TABLES"),
            "lab wrong": lambda: self._lab("SELECT no_such FROM types"),
            "lab missing": lambda: self._lab("SELECT * FROM no_such"),
            "lab raises": lambda: self._lab("SELECT raise_error('it failed: é')"),
            "lab stopped": lambda: self._stopped(),
            "lab after": lambda: self._lab("SELECT 1 AS one"),
        }
        found = {}
        for question, ask in asked.items():
            try:
                found[question] = str(ask())
            except Exception as error:
                self._session.rollback()
                found[question] = f"{type(error).__name__}: {error}"
        return found

    def _ping(self) -> bool:
        with self._database.get_sqla_engine() as engine:
            return bool(engine.dialect.do_ping(engine.raw_connection()))

    def _query(self, sql: str, limit: int | None) -> int:
        from superset.models.sql_lab import Query

        query = Query(
            database_id=self._database.id,
            client_id=f"{time.time_ns():x}"[-11:],
            sql=sql,
            schema=self._schema,
            limit=limit,
            status="pending",
        )
        self._session.add(query)
        self._session.commit()
        return int(query.id)

    def _lab(self, sql: str, limit: int | None = 1000) -> Any:
        """The result in SQL Lab, whose loop polls the state and fetches at the end."""
        return self._run(self._query(sql, limit), sql)

    def _run(self, query: int, sql: str) -> Any:
        from superset.sql_lab import execute_sql_statements

        payload = execute_sql_statements(query, sql, True, False, None, False, None)
        assert payload is not None
        shown = ("status", "error", "errors", "data", "columns", "selected_columns")
        return {name: payload[name] for name in shown if name in payload}

    def _stopped(self) -> Any:
        """The state of a statement that the user stops."""
        from superset.models.sql_lab import Query

        sql = "SELECT java_method('java.lang.Thread', 'sleep', 60000L + id) FROM range(1)"
        number = self._query(sql, 10)

        def stop() -> None:
            time.sleep(3)
            with self._app.app_context():
                self._session.query(Query).filter_by(id=number).one().status = "stopped"
                self._session.commit()

        thread = threading.Thread(target=stop)
        thread.start()
        began = time.monotonic()
        shown = self._run(number, sql)
        thread.join()
        assert time.monotonic() - began < 40
        return shown


if __name__ == "__main__":
    main()
