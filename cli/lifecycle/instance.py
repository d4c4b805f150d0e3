"""`causeway instance`: shows, reruns, kills, suspends and resumes instances of feeds and processes.

    causeway instance list feed NAME [--start TIME] [--end TIME] [--state STATE] [--planned]
    causeway instance status|summary TYPE NAME
    causeway instance params process NAME --start TIME
    causeway instance rerun TYPE NAME --start TIME [--end TIME] [--force]
    causeway instance kill|suspend|resume TYPE NAME --start TIME [--end TIME]
    causeway instance logs TYPE NAME --start TIME

A range is from --start, inclusive, to --end, exclusive; without --end it is one minute long.
Exit status: 0 done, 1 refused or nothing found, 2 wrong usage.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta

from cli.lifecycle.lifecycle_options import (
    add_entity_name,
    add_store_options,
    key_of,
    now_of,
    open_store,
    time_option,
)
from cli.lifecycle.work_observer import environment_observer
from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.process import Process
from pipeline.processes.parameters import parameters_of
from pipeline.scheduler import entity_service
from pipeline.scheduler.errors import UnknownEntity
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.instances.work_records import OnChange, no_record
from pipeline.scheduler.store.store import Store

_COMMANDS_HELP = {
    "list": "list instances",
    "status": "list instances that are open or failed",
    "summary": "count instances by state",
    "params": "print the parameters of a process instance",
    "rerun": "run ended instances again",
    "kill": "stop open instances",
    "suspend": "hold waiting and ready instances until they are resumed",
    "resume": "let suspended instances wait for their inputs again",
    "logs": "print the events of instances",
}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in _COMMANDS_HELP.items():
        command = commands.add_parser(name, help=text)
        add_entity_name(command)
        add_store_options(command)
        command.add_argument("--start", type=time_option, metavar="TIME", help="first time")
        command.add_argument("--end", type=time_option, metavar="TIME", help="end, exclusive")
        command.add_argument(
            "--action",
            choices=[each.value for each in InstanceAction],
            help="only instances of this work",
        )
        if name in ("list", "summary"):
            command.add_argument(
                "--state",
                action="append",
                choices=[each.value for each in InstanceState],
                help="only this state; can be repeated",
            )
            command.add_argument("--planned", action="store_true", help="also future instances")
        if name == "list":
            command.add_argument("--json", action="store_true", help="print JSON lines")
        if name == "rerun":
            command.add_argument(
                "--force", action="store_true", help="also instances that succeeded"
            )


def run(args: argparse.Namespace) -> int:
    with ExitStack() as exits:
        on_change: OnChange = no_record
        if args.command == "kill":
            on_change = exits.enter_context(environment_observer("causeway instance")).changed
        store = open_store(args, on_change)
        entity_service.find(entity_service.read_catalog(store), key_of(args))
        return _COMMANDS[args.command](args, store)


def _chosen(args: argparse.Namespace, store: Store) -> list[Instance]:
    states = [InstanceState(each) for each in getattr(args, "state", None) or ()]
    found = store.instances(key_of(args), args.start, _end(args), states)
    wanted = args.action
    return [each for each in found if wanted in (None, each.key.schedule.action.value)]


def _end(args: argparse.Namespace) -> datetime | None:
    """The end of the range. By default, commands that change instances take one minute."""
    end: datetime | None = args.end
    if end is None and args.start is not None and args.command not in ("list", "summary", "status"):
        return args.start + timedelta(minutes=1)  # type: ignore[no-any-return]
    return end


def _planned(
    args: argparse.Namespace, store: Store
) -> Iterator[tuple[InstanceAction, str, datetime]]:
    """Yields (action, cluster, nominal time) of instances that do not exist yet."""
    catalog, key = entity_service.read_catalog(store), key_of(args)
    for schedule in entity_service.schedules_of(catalog, key, now_of(args)):
        action = schedule.key.action
        if action is InstanceAction.EVICT or args.action not in (None, action.value):
            continue
        first = store.situation(schedule.key, limit=0).created_until or schedule.calendar.at(0)
        start = max(first, args.start) if args.start else first
        end = min(schedule.end, args.end) if args.end else schedule.end
        for nominal in schedule.calendar.between(start, end):
            yield action, schedule.key.cluster, nominal


def _run_list(args: argparse.Namespace, store: Store) -> int:
    rows = _chosen(args, store)
    for each in rows:
        print(json.dumps(_facts(each)) if args.json else _line(each))
    if args.planned:
        for action, cluster, nominal in _planned(args, store):
            if args.json:
                row = {
                    "instance": format_time(nominal),
                    "action": action.value,
                    "cluster": cluster,
                    "state": "PLANNED",
                }
                print(json.dumps(row))
            else:
                print(f"{format_time(nominal)}  {action.value:9} {cluster:20} PLANNED")
    return 0


def _line(one: Instance) -> str:
    key = one.key.schedule
    head = f"{format_time(one.nominal)}  {key.action.value:9} {key.cluster:20} {one.state.value:9}"
    tail = f" run {one.run}, attempt {one.attempt}" if one.attempt else ""
    detail = one.detail.partition("\n")[0]
    return head + tail + (f": {detail}" if detail else "")


def _facts(one: Instance) -> dict[str, object]:
    key = one.key.schedule
    return {
        "instance": format_time(one.nominal),
        "action": key.action.value,
        "cluster": key.cluster,
        "source": key.source,
        "state": one.state.value,
        "run": one.run,
        "attempt": one.attempt,
        "started": format_time(one.started) if one.started else None,
        "ended": format_time(one.ended) if one.ended else None,
        "detail": one.detail,
    }


def _run_status(args: argparse.Namespace, store: Store) -> int:
    quiet = (InstanceState.SUCCEEDED, InstanceState.SKIPPED)
    for each in _chosen(args, store):
        if args.start is not None or each.state not in quiet:
            print(_line(each))
    return 0


def _run_summary(args: argparse.Namespace, store: Store) -> int:
    counts: Counter[tuple[str, str, str]] = Counter()
    for each in _chosen(args, store):
        key = each.key.schedule
        counts[key.action.value, key.cluster, each.state.value] += 1
    if args.planned:
        for action, cluster, _ in _planned(args, store):
            counts[action.value, cluster, "PLANNED"] += 1
    for (work, place, state), count in sorted(counts.items()):
        print(f"{work:9} {place:20} {state:9} {count}")
    return 0


def _run_params(args: argparse.Namespace, store: Store) -> int:
    catalog = entity_service.read_catalog(store)
    entity_service.require_owner(catalog, key_of(args), args.user)
    entity = catalog.entities[key_of(args)]
    if not isinstance(entity, Process) or args.start is None:
        print("causeway: params needs a process and --start", file=sys.stderr)
        return 2
    for cluster in entity.clusters:
        calendar = entity.calendar_on(cluster)
        nominal = calendar.floor(args.start)
        if nominal is None or nominal >= cluster.validity.end:
            continue
        known = store.instances(entity.key, nominal, nominal + timedelta(minutes=1))
        print_ = next((e.fingerprint for e in known if e.key.schedule.cluster == cluster.name), "")
        found = parameters_of(
            entity, cluster.name, catalog.entity_set, nominal, args.user, print_=print_
        )
        for name, value in sorted(found.items()):
            print(f"{name}={value}")
        return 0
    raise UnknownEntity(f"{entity.key} has no instance at {format_time(args.start)}")


def _run_rerun(args: argparse.Namespace, store: Store) -> int:
    rows = _owned_range(args, store)
    eligible = [each for each in rows if entity_service.rerunnable(each, args.force)]
    for each in rows:
        if each not in eligible:
            why = "open" if each.state.open else "SUCCEEDED: --force runs it again"
            print(f"{each.key}: not rerun, it is {why}", file=sys.stderr)
    return _change(args, store, eligible, InstanceEvent.RERUN, len(rows))


def _run_open(args: argparse.Namespace, store: Store) -> int:
    """Kills, suspends or resumes the open instances of the range."""
    rows = _owned_range(args, store)
    event = _OPEN_EVENTS[args.command]
    return _change(args, store, [e for e in rows if e.state.open], event, len(rows))


def _owned_range(args: argparse.Namespace, store: Store) -> list[Instance]:
    entity_service.require_owner(entity_service.read_catalog(store), key_of(args), args.user)
    if args.start is None:
        raise UnknownEntity("choose instances with --start (and --end).")
    return _chosen(args, store)


def _change(
    args: argparse.Namespace,
    store: Store,
    rows: list[Instance],
    event: InstanceEvent,
    in_range: int,
) -> int:
    """Applies the event to `rows`, and prints the outcomes. `in_range` counts the instances of the
    range."""
    done, refused = entity_service.change_instances(store, rows, event, now_of(args), args.user)
    for each in done:
        print(f"{each.key}: {event.value}")
    for reason in refused:
        print(reason, file=sys.stderr)
    if not in_range:
        print("causeway: there is no such instance", file=sys.stderr)
    return 0 if done and len(done) == len(rows) else 1


def _run_logs(args: argparse.Namespace, store: Store) -> int:
    entity_service.require_owner(entity_service.read_catalog(store), key_of(args), args.user)
    end = _end(args)
    for entry in store.log(key_of(args)):
        nominal = entry.instance.nominal
        if (args.start and nominal < args.start) or (end and nominal >= end):
            continue
        if args.action not in (None, entry.instance.schedule.action.value):
            continue
        at = entry.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        print(f"{at} {entry.instance}: {entry.what}: {entry.message}".rstrip())
    return 0


_OPEN_EVENTS = {
    "kill": InstanceEvent.KILL,
    "suspend": InstanceEvent.SUSPEND,
    "resume": InstanceEvent.RESUME,
}
_COMMANDS: dict[str, Callable[[argparse.Namespace, Store], int]] = {
    "list": _run_list,
    "status": _run_status,
    "summary": _run_summary,
    "params": _run_params,
    "rerun": _run_rerun,
    "kill": _run_open,
    "suspend": _run_open,
    "resume": _run_open,
    "logs": _run_logs,
}
