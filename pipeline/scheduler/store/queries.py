"""The statements of the store, built once: SQLAlchemy then compiles each of them once.

Parameters with names that begin with `of_` select rows; the others are new values and limits.
"""

from sqlalchemy import (
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from database.database import database_seconds
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.schema import (
    ALERT_COLUMNS,
    INSTANCE_COLUMNS,
    INSTANCE_FIELDS,
    LOG_COLUMNS,
    SCHEDULE,
    alerts,
    entities,
    horizons,
    instances,
    log_entries,
    places,
    where,
)

_OF_ENTITY = where(entities, "kind", "name")
ALL_ENTITIES = select(entities).order_by(entities.c.kind, entities.c.name)
ONE_ENTITY = select(entities).where(_OF_ENTITY)
LOCKED_STATUS = select(entities.c.status).where(_OF_ENTITY).with_for_update()
REPLACE_ENTITY = update(entities).where(_OF_ENTITY, entities.c.version == bindparam("of_version"))
DELETE_ENTITY = tuple(
    delete(table).where(where(table, "kind", "name")) for table in (entities, instances, horizons)
)

_OF_SCHEDULE = where(instances, *SCHEDULE)
_OF_INSTANCE = where(instances, *SCHEDULE, "nominal")
_FENCE = instances.c.fence == bindparam("of_fence")
_RUNNING = instances.c.state == InstanceState.RUNNING
_OPEN = instances.c.state.in_([state for state in InstanceState if state.open])
_UNSETTLED = or_(  # may still get late data, or wait once more after a time-out
    (instances.c.state == InstanceState.SUCCEEDED) & (instances.c.checks >= 0),
    (instances.c.state == InstanceState.TIMEDOUT) & instances.c.not_before.is_not(None),
)
UNTIL = select(horizons.c.until).where(where(horizons, *SCHEDULE))
OPEN_INSTANCES = (
    select(*INSTANCE_FIELDS)
    .where(_OF_SCHEDULE, _OPEN)
    .order_by(instances.c.nominal)
    .limit(bindparam("most"))
)
NEWEST_OPEN_INSTANCES = OPEN_INSTANCES.order_by(None).order_by(instances.c.nominal.desc())
UNSETTLED_INSTANCES = (
    select(*INSTANCE_FIELDS)
    .where(
        _OF_SCHEDULE,
        _UNSETTLED,
        instances.c.nominal > bindparam("of_read", type_=instances.c.nominal.type),
    )
    .order_by(instances.c.nominal)
    .limit(bindparam("most"))
)
CHANGE_INSTANCE = update(instances).where(
    _OF_INSTANCE, _FENCE, instances.c.state == bindparam("of_state", type_=instances.c.state.type)
)
RECORD_FINGERPRINT = update(instances).where(_OF_INSTANCE, _FENCE)
COUNT_RUNS = (
    select(func.count(func.coalesce(instances.c.leader, instances.c.nominal).distinct()))
    .select_from(instances)
    .where(_OF_SCHEDULE, _RUNNING)
)
_LEASE_END = database_seconds() + bindparam("seconds", type_=instances.c.lease.type)
START_LEASE = update(instances).where(_OF_INSTANCE).values(lease=_LEASE_END)
RENEW_LEASE = (
    update(instances)
    .where(_OF_INSTANCE, _FENCE, _RUNNING, instances.c.server == bindparam("of_server"))
    .values(lease=_LEASE_END)
)
ORPHANS = select(*INSTANCE_COLUMNS).where(
    _RUNNING, or_(instances.c.lease.is_(None), instances.c.lease < database_seconds())
)
_HOLDER = and_(*(places.c[name] == instances.c[name] for name in (*SCHEDULE, "nominal")))
FREE_PLACES = delete(places).where(
    places.c.place.in_(bindparam("wanted", expanding=True)),
    not_(
        exists().where(
            _HOLDER,
            instances.c.server == places.c.server,
            instances.c.lease >= database_seconds(),
        )
    ),
)
RELEASE_PLACES = delete(places).where(
    where(places, *SCHEDULE, "nominal"), places.c.server == bindparam("of_server")
)
RUNNING_OWNERS = (
    select(entities.c.owner)
    .distinct()
    .join(instances, (entities.c.kind == instances.c.kind) & (entities.c.name == instances.c.name))
    .where(_RUNNING)
)
INSTANCES = (
    select(*INSTANCE_COLUMNS)
    .where(where(instances, "kind", "name"))
    .order_by(instances.c.nominal, instances.c.action, instances.c.cluster, instances.c.source)
)

STATE_COUNTS = select(
    *(instances.c[name] for name in SCHEDULE),
    instances.c.state,
    func.count(),
    func.min(instances.c.nominal),
).group_by(*(instances.c[name] for name in SCHEDULE), instances.c.state)
HORIZONS = select(*(horizons.c[name] for name in SCHEDULE), horizons.c.until)
PLACE_IN_LIST = tuple_(instances.c.nominal, *(instances.c[name] for name in SCHEDULE))

_FREE_ALERT = or_(alerts.c.claimed.is_(None), alerts.c.claimed < database_seconds())
_CHANNEL = alerts.c.channel == bindparam("of_channel")
ADD_ALERT = insert(alerts)
ALERT_CHANNELS = (
    select(alerts.c.channel).where(alerts.c.channel.like(bindparam("prefix"))).distinct()
)
TAKE_ALERTS = (
    update(alerts)
    .where(
        alerts.c.id.in_(
            select(alerts.c.id)
            .where(_CHANNEL, _FREE_ALERT)
            .order_by(alerts.c.id)
            .limit(bindparam("most"))
        ),
        _FREE_ALERT,
    )
    .values(claimed=database_seconds() + bindparam("seconds", type_=alerts.c.claimed.type))
    .returning(*ALERT_COLUMNS)
)
DELETE_ALERTS = delete(alerts).where(alerts.c.id.in_(bindparam("ids", expanding=True)))
DELETE_OLD_ALERTS = delete(alerts).where(alerts.c.at < bindparam("before", type_=alerts.c.at.type))

_OF_LOG = where(log_entries, *SCHEDULE, "nominal")
LOG = select(*LOG_COLUMNS).where(where(log_entries, "kind", "name")).order_by(log_entries.c.id)
ADD_LOG = insert(log_entries)
_NEWEST_LOG = log_entries.alias()
TRIM_LOG = delete(log_entries).where(
    _OF_LOG,
    log_entries.c.id
    <= select(_NEWEST_LOG.c.id)
    .where(where(_NEWEST_LOG, *SCHEDULE, "nominal"))
    .order_by(_NEWEST_LOG.c.id.desc())
    .limit(1)
    .offset(bindparam("kept"))
    .scalar_subquery(),
)
