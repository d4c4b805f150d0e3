"""The questions to the history, by name: the pages of the REST API and of `causeway history`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from database.history.refusals import refusals
from database.history.search import (
    PARAMETERS,
    Search,
    check_names,
    limit_of,
    moment,
    statement_page,
    unreadable,
)
from database.history.summaries import table_lineage, traffic
from database.history.work_search import COPIES, INSTANCES, work_page

Parameters = Mapping[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """The names of a question's parameters, and the function that answers it."""

    parameters: tuple[str, ...]
    function: Callable[[Connection, Parameters], Answer]


def _since(given: Parameters) -> float:
    return moment(given.get("since", "0"))


def _refusals(connection: Connection, given: Parameters) -> Answer:
    found = refusals(connection, _since(given), given.get("user"), limit_of(given))
    return {"refusals": found}


QUESTIONS = {
    "statements": Question(
        PARAMETERS, lambda connection, given: statement_page(connection, Search.read(given))
    ),
    "copies": Question(
        COPIES.parameters, lambda connection, given: work_page(connection, COPIES, given)
    ),
    "instances": Question(
        INSTANCES.parameters, lambda connection, given: work_page(connection, INSTANCES, given)
    ),
    "refusals": Question(("user", "since", "limit"), _refusals),
    "lineage": Question(
        ("since", "limit"),
        lambda connection, given: table_lineage(connection, _since(given), limit_of(given)),
    ),
    "traffic": Question(
        ("since",), lambda connection, given: {"traffic": traffic(connection, _since(given))}
    ),
}


def answer(connection: Connection, question: str, parameters: Parameters) -> Answer:
    """The answer to one of QUESTIONS, as JSON values. `parameters` are texts by name. Raises
    BadSearch."""
    definition = QUESTIONS[question]
    check_names(parameters, definition.parameters)
    try:
        return definition.function(connection, parameters)
    except ValueError as error:
        raise unreadable(error) from None
