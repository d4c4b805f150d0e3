"""`causeway route`: shows in which cluster a statement would run, and why, without running it."""

import argparse
import asyncio
import json
import os
import pwd

from cli.errors import NoClusters
from cli.target import add_target_arguments, load_settings
from conf.settings.settings import Settings
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.session.session import SessionState
from proxy.statement.dry_run import DryRun, dry_run
from proxy.statement.machine.cluster_commands import use_cluster
from proxy.statement.statement_router import StatementRouter
from router.report import DecisionReport

_REFUSED = 3  # exit status, by which scripts distinguish a refusal from a failure
_PROTOCOL = 0  # the session's protocol version, unused: nothing is sent


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument("--use", metavar="CLUSTER", help="pin to this cluster, as USE CLUSTER")
    parser.add_argument(
        "--database", default="default", metavar="DB", help="current database, as USE"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("sql", metavar="SQL")


def run(args: argparse.Namespace) -> int:
    settings = load_settings(args)
    if not settings.topology.in_use:
        raise NoClusters("the settings name no cluster, so nothing is routed.")
    session = SessionState.opened(
        _user(), _PROTOCOL, {"use:database": args.database}, settings.topology
    )
    if args.use:
        use_cluster(session, args.use)
    found = asyncio.run(_dry_run(settings, session, args.sql))
    print(json.dumps(found.document()) if args.json else as_text(found.report))
    return _REFUSED if found.report.decision == "refuse" else 0


def as_text(decided: DecisionReport) -> str:
    """The decision as lines for a terminal."""
    first = {
        "run": f"run in {decided.cluster}",
        "answer": "answered by Causeway",
        "refuse": f"refused with {decided.code}",
    }[decided.decision]
    lines = [f"{first} ({decided.rule}): {decided.because}"]
    if decided.reads:
        lines.append(f"reads   {', '.join(decided.reads)}")
    if decided.writes:
        lines.append(f"writes  {', '.join(decided.writes)}")
    return "\n".join(lines)


async def _dry_run(settings: Settings, session: SessionState, sql: str) -> DryRun:
    snapshot = Snapshot(settings.snapshot_ttl, settings.snapshot_limit)
    loader = SnapshotLoader(settings, snapshot)
    try:
        return await dry_run(sql, session, StatementRouter(settings, snapshot, loader))
    finally:
        loader.close()


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name
