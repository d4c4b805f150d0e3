"""Searches of ended statements: a `Search`, its SQL, and its form as the parameters of a URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, exists, select, tuple_

from conf.formats import utc
from database.errors import BadSearch
from database.history.schema import PHASES, statements, tables

_RENAMED = {"user_name": "user", "acting_user": "by"}
_LEFT_OUT = frozenset((*PHASES, "weight", "began"))
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
PARAMETERS = (
    *("statement", "user", "table", "cluster", "fingerprint", "refused", "slower_than", "since"),
    *("limit", "before"),
)


@dataclass(frozen=True, slots=True)
class Search:
    """Statements that fit all given conditions, the newest first. `slower_than` is in seconds,
    `since` is Unix time. `before` has the start and id of the last statement of the page before."""

    statement_id: str | None = None
    user: str | None = None
    table: str | None = None
    cluster: str | None = None
    fingerprint: str | None = None
    refused: bool = False
    slower_than: float | None = None
    since: float | None = None
    limit: int = DEFAULT_LIMIT
    before: tuple[float, str] | None = None

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Search":
        """The search for texts by the names of PARAMETERS. Raises BadSearch."""
        check_names(parameters, PARAMETERS)
        try:
            return cls(
                statement_id=parameters.get("statement"),
                user=parameters.get("user"),
                table=parameters.get("table"),
                cluster=parameters.get("cluster"),
                fingerprint=parameters.get("fingerprint"),
                refused=parameters.get("refused", "false").lower() in ("true", "1"),
                slower_than=float(parameters["slower_than"])
                if "slower_than" in parameters
                else None,
                since=moment(parameters["since"]) if "since" in parameters else None,
                limit=limit_of(parameters),
                before=place_of(parameters),
            )
        except ValueError as error:
            raise unreadable(error) from None

    def statement(self) -> Select[Any]:
        """The query of the statements that fit. Its inner query reads only an index; the outer one
        reads the rows of the page."""
        fits = self._of_table() if self.table is not None else self._of_all()
        found = fits.limit(self.limit).subquery()
        return (
            select(statements)
            .join(found, found.c.statement == statements.c.statement)
            .order_by(statements.c.began.desc(), statements.c.statement.desc())
        )

    def _of_all(self) -> Select[Any]:
        return self._page(select(statements.c.statement), statements).where(*self._conditions())

    def _of_table(self) -> Select[Any]:
        fits = select(tables.c.statement).where(tables.c.table_name == (self.table or "").lower())
        if conditions := self._conditions():
            same = statements.c.statement == tables.c.statement
            fits = fits.where(exists().where(same, *conditions))
        return self._page(fits, tables)

    def _page(self, fits: Select[Any], of: Any) -> Select[Any]:
        """The query with the order and limits of the page. `of` is the table with its columns."""
        if self.since is not None:
            fits = fits.where(of.c.began >= self.since)
        if self.before is not None:
            began, statement = self.before
            fits = fits.where(of.c.began <= began)  # not all databases use an index for a tuple
            fits = fits.where(tuple_(of.c.began, of.c.statement) < (began, statement))
        return fits.order_by(of.c.began.desc(), of.c.statement.desc())

    def _conditions(self) -> list[Any]:
        columns, conditions = statements.c, []
        if self.statement_id is not None:
            conditions.append(columns.statement == self.statement_id)
        if self.user is not None:
            conditions.append(columns.user_name == self.user)
        if self.cluster is not None:
            conditions.append(columns.cluster == self.cluster)
        if self.fingerprint is not None:
            conditions.append(columns.fingerprint == self.fingerprint)
        if self.refused:
            conditions.append(columns.refused.is_(True))
        if self.slower_than is not None:
            conditions.append(columns.seconds > self.slower_than)
        return conditions


def statement_page(connection: Connection, search: Search) -> dict[str, Any]:
    """A page: `statements`, the newest first, and `next`, the `before` of the next page; None after
    the last page."""
    rows = [dict(row) for row in connection.execute(search.statement()).mappings()]
    more = len(rows) == search.limit
    return {
        "statements": [statement_document(row) for row in rows],
        "next": cursor(rows[-1]["began"], rows[-1]["statement"]) if more else None,
    }


def statement_document(row: Mapping[str, Any]) -> dict[str, Any]:
    """A statement's row as the REST API and `causeway history` show it."""
    shown = {_RENAMED.get(name, name): row[name] for name in row if name not in _LEFT_OUT}
    phases = {name: round(row[name], 6) for name in PHASES if row[name] is not None}
    seconds = None if row["seconds"] is None else round(row["seconds"], 6)
    return {"time": utc(row["began"]), **shown, "seconds": seconds, "phases": phases}


# Parameters of all searches


def check_names(parameters: Mapping[str, str], known: Sequence[str]) -> None:
    """Raises BadSearch for an unknown parameter."""
    unknown = sorted(parameters.keys() - set(known))
    if unknown:
        names = ", ".join(known)
        raise BadSearch(f"The history is not searched by {unknown[0]!r}, but by {names}.")


def unreadable(error: ValueError) -> BadSearch:
    """The error for a parameter's value that cannot be read."""
    return BadSearch(f"The search of the history cannot be read: {error}.")


def cursor(when: float, id: str) -> str:
    """The `before` of the page that follows a row, by its time and its id."""
    return f"{when!r}-{id}"


def place_of(parameters: Mapping[str, str]) -> tuple[float, str] | None:
    """The time and the id that `before` names. Raises ValueError."""
    if "before" not in parameters:
        return None
    when, separator, id = parameters["before"].rpartition("-")
    if not separator:
        raise ValueError(f"{parameters['before']!r} is not the `next` of a page")
    return float(when), id


def limit_of(parameters: Mapping[str, str]) -> int:
    """The number of rows of a page. Raises ValueError."""
    limit = int(parameters.get("limit", DEFAULT_LIMIT))
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"a limit is from 1 to {MAX_LIMIT}, not {limit}")
    return limit


def moment(text: str) -> float:
    """Unix time of a number, a date or a time in ISO 8601, in UTC unless it names a zone.

    Raises ValueError.
    """
    try:
        return float(text)
    except ValueError:
        when = datetime.fromisoformat(text)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
