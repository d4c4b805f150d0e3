"""Causeway's own settings, changed by SET in one session. No cluster receives them."""

import re
from dataclasses import replace

from conf.formats import size_text
from conf.kinds import size
from conf.locations import Location
from conf.names import ClusterName
from conf.settings.clusters import parse_clusters
from dialect.statement import SetVariable
from proxy.errors import EndpointNotAllowed, Failure, InvalidCommand, SettingDenied, UnknownCluster
from proxy.protocol.results import NO_ROWS, ResultTable
from proxy.session.session import SessionState

CLUSTERS = "hive.cluster.properties"
DEFAULT_CLUSTER = "hive.default.cluster.name"
USE_DEFAULT = "hive.use.default.cluster"
FETCH = "causeway.fetch.missing"
PRIORITY = "causeway.priority"
_PRIORITIES = range(-100, 101)
_NUMBER = re.compile(r"-?[0-9]{1,3}")


def is_ours(key: str) -> bool:
    return key.strip().lower() in (CLUSTERS, DEFAULT_CLUSTER, USE_DEFAULT, FETCH, PRIORITY)


def change(session: SessionState, key: str, value: str) -> ResultTable:
    """Changes the setting in this session; the answer is that of any SET.

    Raises EndpointNotAllowed (D13), UnknownCluster, InvalidCommand, SettingDenied.
    """
    name = key.strip().lower()
    if name == CLUSTERS:
        _change_clusters(session, value)
    elif name == DEFAULT_CLUSTER:
        _change_default(session, value.strip())
    elif name == FETCH:
        _change_fetch(session, value.strip().lower())
    elif name == PRIORITY:
        _change_priority(session, value.strip())
    else:
        _change_use_default(session, value.strip().lower())
    return _setting_row(key, value)


def apply_opening(session: SessionState) -> None:
    """Applies Causeway's settings that the client sent in OpenSession. Raises as `change`."""
    for key, value in session.variables.items() if session.topology.in_use else ():
        if is_ours(key):
            change(session, key, value)


def answer(effect: object) -> ResultTable:
    """The result of a SET that is ignored, as if it had been run; no rows for a RESET."""
    return _setting_row(effect.key, effect.value) if isinstance(effect, SetVariable) else NO_ROWS


def _setting_row(key: str, value: str) -> ResultTable:
    return ResultTable(("key", "value"), ((key, value),))


def _change_clusters(session: SessionState, value: str) -> None:
    """Chooses among the configured clusters and their endpoints.

    Names and file systems must be the configured ones: otherwise a statement would run where its
    data is not.
    """
    try:
        chosen, _ = parse_clusters(value)
    except ValueError as error:
        raise InvalidCommand(f"{CLUSTERS}: {error}.") from error
    for name, cluster in chosen.items():
        configured = session.configured.clusters.get(name)
        if configured is None:
            raise UnknownCluster(f"{CLUSTERS}: there is no cluster {name!r}.")
        if Location.of(cluster.filesystem) != Location.of(configured.filesystem):
            raise EndpointNotAllowed(
                f"{CLUSTERS}: the FileSystem of {name} is {configured.filesystem}."
            )
        foreign = [str(each) for each in cluster.hs2 if each not in configured.hs2]
        if foreign:
            raise EndpointNotAllowed(f"{CLUSTERS}: {', '.join(foreign)} is not one of {name}'s.")
    for needed in (session.topology.default, session.pinned):
        if needed is not None and needed not in chosen:
            raise InvalidCommand(f"{CLUSTERS}: {needed} is in use and has to stay.")
    session.topology = replace(session.topology, clusters=chosen)


def _change_default(session: SessionState, value: str) -> None:
    if value not in session.topology:
        raise UnknownCluster(f"There is no cluster {value!r}.")
    session.topology = replace(session.topology, default=ClusterName(value))


def _change_use_default(session: SessionState, value: str) -> None:
    if value not in ("true", "false"):
        raise InvalidCommand(f"{USE_DEFAULT} is true or false.")
    session.topology = replace(session.topology, use_default=value == "true")


def _change_fetch(session: SessionState, value: str) -> None:
    try:
        wanted = size(value)
    except ValueError as error:
        raise InvalidCommand(f"{FETCH}: {error}.") from error
    allowed = session.restrictions.fetch_limit
    if wanted > allowed:
        most = f"at most {size_text(allowed)} are" if allowed else "nothing is"
        raise SettingDenied(f"{FETCH}: {most} copied for a query here (router.fetch.limit).")
    session.fetch = wanted


def _change_priority(session: SessionState, value: str) -> None:
    if not _NUMBER.fullmatch(value) or int(value) not in _PRIORITIES:
        least, most = _PRIORITIES[0], _PRIORITIES[-1]
        raise InvalidCommand(f"{PRIORITY} is a whole number from {least} to {most}.")
    session.priority = int(value)


_NO_SUCH_DATABASE = (
    "org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException: [SCHEMA_NOT_FOUND] The schema"
    " `{name}` cannot be found. Verify the spelling and correctness of the schema and catalog.\n"
    "If you did not qualify the name with a catalog, verify the current_schema() output, or"
    " qualify the name with the correct catalog.\n"
    "To tolerate the error on drop use DROP SCHEMA IF EXISTS."
)


def no_such_database(name: str) -> Failure:
    """The Thrift Server's error for USE of a database that does not exist."""
    text = _NO_SUCH_DATABASE.format(name=name)
    return Failure(f"Error running query: [SCHEMA_NOT_FOUND] {text}", "42704")


def cannot_open(name: str) -> Failure:
    """The Thrift Server's error for OpenSession with a database that does not exist."""
    return Failure("Failed to open new session: " + _NO_SUCH_DATABASE.format(name=name))
