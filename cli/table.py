"""`causeway table assign`, `show` and `writes`: changes and shows the cluster facts of tables."""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from cli.target import add_target_arguments, load_settings
from conf.copies import cluster_copies, clusters_of, sums
from conf.formats import utc
from conf.kinds import DURATION
from conf.names import ClusterName, TableRef, parse_partition_name
from conf.placement import BadPlacement, OpenWrite, Placement, read_partition_placement
from conf.settings.settings import Settings
from conf.write_ids import time_of
from metastore.client.applications import has_ended
from metastore.client.changes.notifying_client import notifying_client
from metastore.client.types import Table
from metastore.errors import UnreadableFacts
from metastore.placement.assign import Assignment, assign
from metastore.placement.placement_store import PlacementStore
from metastore.placement.write_marks import running_writes

SHOWN = 20  # partitions that `show` prints one by one; --json has all


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    assigning = actions.add_parser("assign", help="set a table's primary cluster and its copies")
    assigning.add_argument("table", metavar="DB.TABLE")
    assigning.add_argument("--primary", metavar="CLUSTER", help="the only cluster that writes it")
    assigning.add_argument(
        "--copy",
        action="append",
        default=[],
        type=_copy,
        metavar="CLUSTER=LOCATION",
        help="a copy that is up to date now; a partition's copy is in LOCATION/k=v, or in"
        " LOCATION if it is the only partition named",
    )
    assigning.add_argument(
        "--no-copy",
        action="append",
        default=[],
        metavar="CLUSTER",
        help="remove this cluster's copy from the metastore; its files stay",
    )
    assigning.add_argument(
        "--end-writes",
        action="store_true",
        help="remove all marks of writes; only if no write is running",
    )
    showing = actions.add_parser("show", help="show a table's clusters, copies and writes")
    showing.add_argument("table", metavar="DB.TABLE")
    showing.add_argument("--json", action="store_true", help="print one JSON object")
    writing = actions.add_parser("writes", help="list the marks of running and dead writes")
    writing.add_argument(
        "--older",
        type=DURATION.parse,
        default=0.0,
        metavar="TIME",
        help="only writes that began longer ago than this, such as 1h",
    )
    writing.add_argument("--json", action="store_true", help="print one JSON list")
    writing.add_argument(
        "--end-dead",
        action="store_true",
        help="remove the marks of Spark applications that have ended, according to the cluster's"
        " ResourceManager or SparkMaster",
    )
    add_target_arguments(writing)
    for each in (assigning, showing):
        each.add_argument(
            "--partition",
            action="append",
            default=[],
            metavar="K=V[/K=V]",
            help="only partitions with these values; can be repeated",
        )
        add_target_arguments(each)


def run(args: argparse.Namespace) -> int:
    settings = load_settings(args)
    owner = settings.topology.default or ClusterName("")
    with notifying_client(settings) as client:
        facts = PlacementStore(client, owner)
        actions = {"assign": _assign, "show": _show, "writes": _writes}
        return actions[args.action](args, settings, facts)


def _assign(args: argparse.Namespace, settings: Settings, facts: PlacementStore) -> int:
    wanted = Assignment(
        table=TableRef.parse(args.table),
        primary=None if args.primary is None else ClusterName(args.primary),
        partitions=tuple(args.partition),
        copies=dict(args.copy),
        gone=frozenset(map(ClusterName, args.no_copy)),
        end_writes=args.end_writes,
    )
    done = assign(facts, wanted, settings.topology)
    objects = "the table and " if done.tables else ""
    print(f"{wanted.table}: {objects}{done.partitions} partitions assigned")
    return 0


def _show(args: argparse.Namespace, settings: Settings, facts: PlacementStore) -> int:
    table, placement = facts.table(TableRef.parse(args.table))
    description, now = _described(table, placement), time.time()
    objects = [placement]
    if table.partition_keys:
        found = list(_partitions(facts, table, placement, args.partition))
        description["partitions"] = [
            {"partition": name, **_replicas(placed, location)} for name, placed, location in found
        ]
        if not (placement.uniform and placement.copies):
            objects = [placed for _, placed, _ in found]
    counted = sums(objects, clusters_of(objects))
    description["clusters"] = [each.document(now) for each in counted]
    print(json.dumps(description, indent=2) if args.json else _text(description))
    return 0


def _writes(args: argparse.Namespace, settings: Settings, facts: PlacementStore) -> int:
    clusters, now = tuple(settings.topology.clusters.values()), time.time()
    has_ended_once = cache(partial(has_ended, clusters))  # one request for each application
    found = []
    for ref, mark in list(running_writes(facts)):
        if not args.older or mark.since <= now - args.older:
            ended = args.end_dead and bool(mark.application) and has_ended_once(mark.application)
            if ended:
                facts.close_write(ref, mark.id, mark.partitions)
            found.append({"table": str(ref), **_write(mark), "ended": ended})
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    for each in found:
        count = "" if each["partitions"] is None else f", {len(each['partitions'])} partitions"
        began = f"since {utc(each['since'])}" if each["since"] else "since an unknown time"
        ended = ": it has ended, the mark is removed" if each["ended"] else ""
        print(f"{each['table']}: written by {each['by']} {began}{count} (id {each['id']}){ended}")
    return 0


def _described(table: Table, placement: Placement) -> dict[str, Any]:
    return {
        "table": str(table.ref),
        **_replicas(placement, table.location),
        "writes": [_write(mark) for mark in placement.open],
    }


def _write(mark: OpenWrite) -> dict[str, Any]:
    return {
        "id": mark.id,
        "by": mark.by,
        "application": mark.application,
        "since": mark.since,
        "partitions": None if mark.partitions is None else sorted(mark.partitions),
    }


def _replicas(placement: Placement, location: str) -> dict[str, Any]:
    copies = [
        {
            "cluster": copy.cluster,
            "location": copy.location,
            "fresh": copy.fresh,
            "stale_since": _time(copy.since),
            "copied": _time(copy.at),
            "files": copy.files,
            "bytes": copy.bytes,
        }
        for copy in cluster_copies(placement)
    ]
    written = _time(time_of(placement.write))
    return {
        "primary": placement.primary,
        "location": location,
        "written": written,
        "copies": copies,
    }


def _time(when: float | None) -> str | None:
    return None if when is None else utc(when)


def _partitions(
    facts: PlacementStore, table: Table, placement: Placement, chosen: list[str]
) -> Iterator[tuple[str, Placement, str]]:
    """Yields name, placement and location of the chosen partitions."""
    specs = [set(parse_partition_name(text)) for text in chosen]
    names = [
        name
        for name in facts.client.get_partition_names(table.ref)
        if not specs or any(spec <= set(parse_partition_name(name)) for spec in specs)
    ]
    found = {each.values: each for each in facts.client.get_partition_facts(table.ref, names)}
    for name in names:
        each = found.get(tuple(value for _, value in parse_partition_name(name)))
        if each is not None:
            try:
                placed = read_partition_placement(each.parameters, placement, name)
            except BadPlacement as error:
                raise UnreadableFacts(f"{table.ref}@{name}: {error}") from error
            yield name, placed, each.location


def _text(description: dict[str, Any]) -> str:
    lines = [f"{description['table']}: {_summary(description)}", f"  {description['location']}"]
    lines += [f"  {copy['cluster']}: {copy['location']}" for copy in description["copies"]]
    for write in description["writes"]:
        lines.append(f"  being written by {write['by']} (id {write['id']})")
    partitions = description.get("partitions", [])
    if len(partitions) <= SHOWN:
        lines += [f"  {each['partition']}: {_summary(each)}" for each in partitions]
    else:
        for summary, count in Counter(map(_summary, partitions)).most_common():
            lines.append(f"  {count} partitions: {summary}")
    lines += [_lag(each) for each in description["clusters"] if each["stale"]]
    return "\n".join(lines)


def _lag(cluster: dict[str, Any]) -> str:
    """A line about a cluster with stale copies."""
    total = sum(cluster[each] for each in ("primary", "fresh", "stale", "absent"))
    stale = f"  {cluster['cluster']}: {cluster['stale']} of {total} stale"
    if cluster["stale_since"] is None:
        return f"{stale}, since an unknown time"
    return f"{stale} since {cluster['stale_since']} ({cluster['lag']:.0f} s)"


def _summary(replicas: dict[str, Any]) -> str:
    copies = ", ".join(
        copy["cluster"] + ("" if copy["fresh"] else " (stale)") for copy in replicas["copies"]
    )
    return f"primary {replicas['primary']}, copies {copies or 'none'}"


def _copy(text: str) -> tuple[ClusterName, str]:
    cluster, equals, location = text.partition("=")
    if not equals or not cluster or not location:
        raise argparse.ArgumentTypeError(f"not CLUSTER=LOCATION: {text}")
    return ClusterName(cluster), location
