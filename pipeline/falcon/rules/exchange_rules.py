"""The rules for datasources, and for a feed's imports and exports. Pure.

An exchange that could not be repeated is refused: a rerun of an import replaces its instance, and a
rerun of an export changes the same rows, which it finds by their keys.
"""

import re
from collections.abc import Callable, Iterator

from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.feed import Direction, Exchange, FeedCluster
from pipeline.falcon.errors import DocumentProblem

SPLIT_BY, MAPPERS, FETCH_SIZE, UPDATE_KEY = (
    "--split-by", "--num-mappers", "--fetch-size", "--update-key",
)  # fmt: skip
MOST_CONNECTIONS = 64
NO_RENAME = (
    "an import replaces a directory by its name, which an object store cannot do in one step:"
    " import into a table"
)
_COUNT = re.compile(r"[1-9][0-9]{0,5}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,127}")
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,127}(\.[A-Za-z_][A-Za-z0-9_$]{0,127}){0,2}")
_INTERFACES = {Direction.IMPORT: "readonly", Direction.EXPORT: "write"}
_ARGUMENTS = {
    Direction.IMPORT: (SPLIT_BY, MAPPERS, FETCH_SIZE),
    Direction.EXPORT: (UPDATE_KEY, MAPPERS),
}


def interface_of(direction: Direction) -> str:
    """The interface of a datasource that an exchange uses."""
    return _INTERFACES[direction]


def keys_of(exchange: Exchange) -> tuple[str, ...]:
    """The columns by which an export finds the rows that it changes."""
    return tuple(filter(None, map(str.strip, (exchange.argument(UPDATE_KEY) or "").split(","))))


def datasource_problems(datasource: Datasource) -> Iterator[DocumentProblem]:
    """What Causeway cannot use of a datasource that is valid in Falcon."""
    for kind, each in datasource.interfaces.items():
        if not each.endpoint.startswith("jdbc:"):
            yield DocumentProblem(
                each.line, "interface", f"{kind} {each.endpoint!r} is not a JDBC URL"
            )
        credential = each.credential
        if credential is None:
            continue
        if credential.kind != "password-file":
            reason = f"{credential.kind} is not used here: name a password-file"
            yield DocumentProblem(credential.line, "credential", reason)
        elif not credential.file.startswith(("/", "file:/")):
            reason = f"passwordFile {credential.file!r} is not a path of the server's machine"
            yield DocumentProblem(credential.line, "credential", reason)


def problems(
    feed_cluster: FeedCluster, datasource_of: Callable[[str], Datasource | None]
) -> Iterator[DocumentProblem]:
    """The problems of the exchanges of a feed's cluster. `datasource_of` finds one by its name."""
    for each in feed_cluster.exchanges:
        element = each.direction.value
        datasource = datasource_of(each.datasource)
        interface = interface_of(each.direction)
        if datasource is None:
            yield DocumentProblem(each.line, element, f"no datasource {each.datasource} is known")
        elif interface not in datasource.interfaces:
            reason = f"datasource {each.datasource} has no {interface} interface"
            yield DocumentProblem(each.line, element, reason)
        is_import = each.direction is Direction.IMPORT
        reasons = _import_problems(each) if is_import else _export_problems(each)
        for reason in (*_name_problems(each), *_argument_problems(each), *reasons):
            yield DocumentProblem(each.line, element, reason)


def _name_problems(exchange: Exchange) -> Iterator[str]:
    if not _TABLE.fullmatch(exchange.table):
        yield f"tableName {exchange.table!r} is not a name of letters, digits, '_' and '$'"
    columns = (*exchange.includes, *exchange.excludes, *keys_of(exchange))
    split = exchange.argument(SPLIT_BY)
    named = (*columns, *filter(None, (exchange.delta, split)))
    yield from (
        f"{name!r} is not a name of a column" for name in named if not _NAME.fullmatch(name)
    )


def _argument_problems(exchange: Exchange) -> Iterator[str]:
    known = _ARGUMENTS[exchange.direction]
    for name, value in exchange.arguments:
        if name not in known:
            yield f"argument {name} is not one of {', '.join(known)}"
        elif name in (MAPPERS, FETCH_SIZE) and not _COUNT.fullmatch(value):
            yield f"argument {name}: {value!r} is not a number from 1"
        elif name == MAPPERS and int(value) > MOST_CONNECTIONS:
            yield f"argument {name}: {value} is more than {MOST_CONNECTIONS}"


def _import_problems(exchange: Exchange) -> Iterator[str]:
    kind = (exchange.extract, exchange.merge)
    if kind not in (("full", "snapshot"), ("incremental", "append")):
        yield (
            "an import extracts full with mergepolicy snapshot, or incremental with append,"
            f" not {exchange.extract or 'nothing'} with {exchange.merge or 'nothing'}"
        )
    if exchange.extract == "incremental" and not exchange.delta:
        yield "an incremental extract needs a deltacolumn"
    mappers = exchange.argument(MAPPERS)
    if mappers and mappers != "1" and not exchange.argument(SPLIT_BY):
        yield f"{MAPPERS} needs {SPLIT_BY}, the column by which the connections share the rows"


def _export_problems(exchange: Exchange) -> Iterator[str]:
    if not exchange.load:
        yield "an export has a load element"
    if not keys_of(exchange):
        yield f"an export needs {UPDATE_KEY}: without keys a rerun would repeat rows"
