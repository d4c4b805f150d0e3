"""The state of a user's session: pin, namespace, journal. Only successful statements change it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conf.catalog.tables import ViewText
from conf.names import ClusterName
from conf.settings.names import SERVER_PREFIXES, canonical_name
from conf.settings.security.restrictions import SessionRestrictions
from conf.topology import Cluster, Endpoint, Topology
from dialect.lineage.temporary import bare_variable, is_variable
from dialect.statement import (
    AddResource,
    AssignVariables,
    CacheTable,
    ChangeFunction,
    CreateTempFunction,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    DropTempFunction,
    Known,
    Namespace,
    RenameTemp,
    ResetVariables,
    SessionEffect,
    SetVariable,
    UncacheTable,
    Unknown,
    UseDatabase,
)
from proxy.auth.impersonation.requested_user import check_proxy_user, without_proxy_user
from proxy.errors import ChecksBypassed, ThriftServerError, TooLarge, refusal
from proxy.session.replay.journal import Journal
from proxy.session.replay.objects import TempObjects
from proxy.session.settings.opening import Opened, opened_configuration
from proxy.session.settings.restrictions import taken
from proxy.session.settings.time_zone import setting_zone
from router.access.statement_access import refusal_of
from router.access.user_access import UserAccess
from router.claim import RESERVED_PREFIX
from router.request import Bound

USE_DATABASE = "use:database"
MANAGED_PARTITIONS = "spark.sql.hive.manageFilesourcePartitions"
_SINGLE_PASS = "spark.sql.analyzer.singlepassresolver."
MAX_CONFIGURATION = 1 << 20  # characters, which are kept as long as the session is
DEFAULT_DATABASE = "default"
_NOT_REPEATED = (CacheTable, UncacheTable, ChangeFunction)


@dataclass(slots=True)
class SessionState:
    """The state of a session. It does no I/O.

    - `configuration`: the client's map in OpenSession, which each session in a cluster receives.
      It lacks the names of users, and the database `default`, in which every session begins;
    - `configured`: the operator's topology; `topology`: the session's own (DC-C3);
    - `variables`: the settings and variables that are set; `unclear`: those with unknown values;
    - `objects`: its temporary views, tables and variables; `functions`: the texts of its temporary
      functions written in SQL; `cached`: the cluster of the last CACHE TABLE, by name;
    - `fetch`: causeway.fetch.missing in bytes; `priority`: causeway.priority;
    - `access`: the user's rights; None: no access rule denies the user anything.
    """

    user: str
    protocol: int
    configuration: Mapping[str, str]
    configured: Topology
    topology: Topology
    pinned: ClusterName | None = None
    database: str = DEFAULT_DATABASE
    variables: dict[str, str] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    objects: TempObjects = field(default_factory=TempObjects)
    functions: dict[str, ViewText] = field(default_factory=dict)
    cached: dict[str, ClusterName] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    restrictions: SessionRestrictions = field(default_factory=SessionRestrictions)
    fetch: int = 0
    priority: int = 0
    access: UserAccess | None = None

    @classmethod
    def opened(
        cls,
        user: str,
        protocol: int,
        configuration: Mapping[str, str],
        topology: Topology,
        restrictions: SessionRestrictions | None = None,
        access: UserAccess | None = None,
    ) -> "SessionState":
        """A new session of `user`, as whom its statements run. Raises ChecksBypassed,
        SettingDenied, InvalidCommand, TooLarge and ThriftServerError.
        """
        size = sum(len(key) + len(value) for key, value in configuration.items())
        if size > MAX_CONFIGURATION:
            raise TooLarge(f"A session's configuration of {size:,} characters is not taken.")
        restrictions = restrictions or SessionRestrictions()
        configuration = taken(without_proxy_user(configuration), restrictions, topology.in_use)
        _check_settings(configuration, access)
        opened = Opened(dict(configuration), {}, set())
        if topology.in_use:
            opened = opened_configuration(configuration)
            for key, value in opened.configuration.items():
                _check_is_kept(key, value)
            if opened.configuration.get(USE_DATABASE, "").lower() == DEFAULT_DATABASE:
                del opened.configuration[USE_DATABASE]  # Spark would read it from the metastore
        return cls(
            user,
            protocol,
            opened.configuration,
            topology,
            topology,
            database=configuration.get(USE_DATABASE, DEFAULT_DATABASE).lower(),
            variables=opened.variables,
            unclear=opened.unclear,
            restrictions=restrictions,
            access=access,
        )

    def reconfigured(
        self, topology: Topology, restrictions: SessionRestrictions | None = None
    ) -> None:
        """Applies the operator's new topology, and the new restrictions if they are given. The
        clusters and endpoints that the session has chosen stay chosen, as far as they exist."""
        self.restrictions = restrictions or self.restrictions
        if self.topology == self.configured:
            self.topology = topology
        else:
            clusters = {
                name: replace(each, hs2=_kept_endpoints(self.topology.clusters.get(name), each))
                for name, each in topology.clusters.items()
                if name in self.topology.clusters or name == topology.default
            }
            default = self.topology.default if self.topology.default in clusters else None
            self.topology = replace(
                self.topology, clusters=clusters, default=default or topology.default
            )
        self.configured = topology

    @property
    def fetch_bytes(self) -> int:
        """The bytes that may be copied for a query that no cluster can run."""
        return min(self.fetch, self.restrictions.fetch_limit)

    def overlay(self, overlay: Mapping[str, str]) -> dict[str, str]:
        """A statement's own settings, without those that are ignored and without keys of claims.
        Raises ImpersonationDenied, ChecksBypassed, SettingDenied and ThriftServerError."""
        for key, value in overlay.items():
            check_proxy_user(key, value, self.user)
            if self.topology.in_use:
                _check_is_kept(key, value)
        own = {
            key: value
            for key, value in without_proxy_user(overlay).items()
            if not key.lower().startswith(RESERVED_PREFIX)
        }
        _check_settings(own, self.access)
        return taken(own, self.restrictions, self.topology.in_use)

    def namespace(self) -> Namespace:
        """The part of the state that the analysis of the next statement needs."""
        return Namespace(
            self.database,
            dict(self.variables),
            self.objects.views(),
            self.objects.tables(),
            frozenset(self.unclear),
            self.objects.variables(),
            dict(self.functions),
        )

    def bounds(self, statement: Known | Unknown) -> tuple[Bound, ...]:
        """The clusters in which the statement has to run, since it uses objects that only they
        have. A statement that is not understood may use all objects of the session."""
        if isinstance(statement, Unknown):
            homes = self.objects.homes()
        else:
            homes = self.objects.homes(statement.temps)
            homes |= self.objects.listed_homes() if statement.lists_temps else {}
        bounds = [Bound(home, f"{_named(name)} is in {home}") for name, home in homes.items()]
        if isinstance(statement, Known) and isinstance(statement.effect, UncacheTable):
            cached = self.cached.get(statement.effect.name or "")
            if cached is not None and self.pinned is None and not bounds:
                bounds.append(Bound(cached, f"{statement.effect.name} was cached in {cached}"))
        return tuple(bounds)

    def check(self, effect: SessionEffect, sql: str) -> None:
        """Checks a statement with an effect before it runs.

        Raises ImpersonationDenied, ChecksBypassed, LimitReached, ThriftServerError.
        """
        match effect:
            case SetVariable(key) | ResetVariables(str(key)):
                _check_settings((key,), self.access)
        if isinstance(effect, SetVariable):
            check_proxy_user(effect.key, effect.value, self.user)
            _check_is_kept(effect.key, effect.value)
        if not isinstance(effect, _NOT_REPEATED):
            self.journal.room_for(sql)

    def apply(
        self,
        effect: SessionEffect,
        sql: str,
        cluster: ClusterName | None,
        number: int,
        used: Sequence[str] = (),
    ) -> None:
        """Applies the effect of a successful statement, and adds it to the journal.

        `cluster` is where it ran; None: in the proxy alone. `number` is its reserved place in the
        journal, `used` are the temporary objects that it used.
        """
        home: ClusterName | None = None
        match effect:
            case UseDatabase(database):
                self.database = database.lower()
            case SetVariable(key, value):
                name = key.removeprefix("hivevar:").strip()
                if not name.startswith(SERVER_PREFIXES):  # `${env:x}` never has this value
                    self.variables[name] = value
                    self.unclear.discard(name)
            case ResetVariables(None):
                self.variables.clear()
                self.unclear.clear()
            case ResetVariables(key):
                self.variables.pop(key or "", None)
                self.unclear.discard(key or "")
            case AssignVariables():
                home = self.objects.apply(effect, cluster, used)
            case CreateTempView() | CreateTempTable() | RenameTemp() | DropTemp():
                home = self.objects.apply(effect, cluster, used)
                self.cached.pop(effect.name, None)
            case CacheTable(name):
                if cluster is not None:
                    self.cached[name] = cluster
            case UncacheTable(None):
                self.cached.clear()
            case UncacheTable(name):
                self.cached.pop(name or "", None)
            case CreateTempFunction(name, ViewText() as text):
                self.functions[name] = text
            case CreateTempFunction(name) | DropTempFunction(name):
                self.functions.pop(name, None)
            case AddResource() | ChangeFunction():
                pass
        match effect:
            case CreateTempView(sql=str(view_sql)):
                sql = view_sql
            case SetVariable(by_server=True):
                sql = setting_zone(effect.value)
        if not isinstance(effect, _NOT_REPEATED):
            self.journal.record(number, sql, effect, home)


def _check_settings(keys: Iterable[str], access: UserAccess | None) -> None:
    """Raises ThriftServerError for a setting that an access rule denies the user."""
    if access is None:
        return
    for key in keys:
        if key != USE_DATABASE and (denial := access.setting(key)) is not None:
            raise ThriftServerError(refusal(refusal_of(access, denial)))


def _named(name: str) -> str:
    if is_variable(name):
        return f"the value of variable {bare_variable(name)}"
    return f"the temporary table {name}"


def _check_is_kept(key: str, value: str) -> None:
    """Raises ChecksBypassed for settings that let Spark bypass checks. Without managed partitions
    Spark lists the folder of a table, where a partition may be missing or be elsewhere. Spark 4's
    single-pass analyzer does not call the guard."""
    name, wanted = canonical_name(key), value.strip().lower()
    lists_folders = name == MANAGED_PARTITIONS.lower() and wanted != "true"
    if lists_folders or (name.startswith(_SINGLE_PASS) and wanted != "false"):
        raise ChecksBypassed(f"{key} may not be {value!r} with clusters in use.")


def _kept_endpoints(chosen: Cluster | None, configured: Cluster) -> tuple[Endpoint, ...]:
    """The chosen endpoints that are still configured; all, if there are none."""
    kept = tuple(each for each in configured.hs2 if chosen is None or each in chosen.hs2)
    return kept or configured.hs2
