"""What is asked of the history: a `Search`, its statement, and how the query of a URL has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select, exists, select, tuple_

from proxy.errors import BadSearch
from proxy.operations.history.schema import statements, tables

MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
PARAMETERS = (
    *("user", "table", "cluster", "fingerprint", "refused", "slower_than", "since"),
    *("limit", "before"),
)


@dataclass(frozen=True, slots=True)
class Search:
    """Statements that fit all that is given, the newest first. `slower_than` is in seconds, `since`
    Unix time. `before` is the last statement of the page before: when it began, and its id."""

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
        """The search that texts by the names of PARAMETERS describe. Raises BadSearch."""
        unknown = sorted(parameters.keys() - set(PARAMETERS))
        if unknown:
            known = ", ".join(PARAMETERS)
            raise BadSearch(f"The history is not searched by {unknown[0]!r}, but by {known}.")
        try:
            return cls(
                user=parameters.get("user"),
                table=parameters.get("table"),
                cluster=parameters.get("cluster"),
                fingerprint=parameters.get("fingerprint"),
                refused=parameters.get("refused", "false").lower() in ("true", "1"),
                slower_than=float(parameters["slower_than"])
                if "slower_than" in parameters
                else None,
                since=moment(parameters["since"]) if "since" in parameters else None,
                limit=_limit(parameters.get("limit", str(DEFAULT_LIMIT))),
                before=_cursor(parameters["before"]) if "before" in parameters else None,
            )
        except ValueError as error:
            raise BadSearch(f"The search of the history cannot be read: {error}.") from None

    def statement(self) -> Select[Any]:
        """The columns of the statements that fit. The inner query reads one index; only the rows
        that are returned are read whole."""
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
        """Those after `before`, in order; both tables have the columns for it."""
        if self.since is not None:
            fits = fits.where(of.c.began >= self.since)
        if self.before is not None:
            began, statement = self.before
            fits = fits.where(of.c.began <= began)  # for databases that read no index by a tuple
            fits = fits.where(tuple_(of.c.began, of.c.statement) < (began, statement))
        return fits.order_by(of.c.began.desc(), of.c.statement.desc())

    def _conditions(self) -> list[Any]:
        columns, conditions = statements.c, []
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


def cursor_of(row: Mapping[str, Any]) -> str:
    """The `before` of the page that follows this row."""
    return f"{row['began']!r}-{row['statement']}"


def moment(text: str) -> float:
    """Unix time of a number, a date or a time in ISO 8601, in UTC unless it names a zone.

    Raises ValueError.
    """
    try:
        return float(text)
    except ValueError:
        when = datetime.fromisoformat(text)
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"a limit is from 1 to {MAX_LIMIT}, not {limit}")
    return limit


def _cursor(text: str) -> tuple[float, str]:
    began, separator, statement = text.rpartition("-")
    if not separator:
        raise ValueError(f"{text!r} is not the `next` of a page")
    return float(began), statement
