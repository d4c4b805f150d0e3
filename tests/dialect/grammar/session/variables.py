"""Statements in a session with two variables and two temporary views."""

from conf.catalog.tables import ViewText
from dialect.analyze import analyze
from dialect.statement import Known, Namespace, SessionVariable
from tests.dialect.catalogs import TestCatalog

TEXT, NUMBER = SessionVariable(True, "e.a"), SessionVariable()
VIEWS = {"v": ViewText("SELECT x FROM b", "d"), "w": ViewText("SELECT 1 AS one", "d")}


def namespace(**settings: str) -> Namespace:
    variables = {f"spark.sql.{key}": value for key, value in settings.items()}
    known = {"x": TEXT, "n": NUMBER, "q": SessionVariable(True, "SELECT * FROM b")}
    return Namespace("d", variables, VIEWS, session_variables=known)


def known(sql: str) -> Known:
    answer = analyze(sql, namespace(), TestCatalog())
    assert isinstance(answer, Known), answer
    return answer
