"""`causeway advise`: recommends copies to make and to drop, or primaries to change, and applies the
recommendations.

    causeway advise --history --conf causeway.toml --share 0.9 --budget west=20TB
    causeway advise --history --conf causeway.toml --apply
    causeway advise --history --conf causeway.toml --apply --every 24h
    causeway advise --history --conf causeway.toml --primaries
    causeway advise --undo --conf causeway.toml

Exit status: 0 done, 1 something could not be done, 2 wrong usage.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from advice.assessment import advice_document, command_of
from advice.copies import REFRESH_DAYS, Advice, Budgets, Candidates, Link, advice, candidates
from advice.errors import BadPlan
from advice.policy import CopyPolicy
from advice.stock import Stock
from cli.advice.apply import Applier, undo
from cli.advice.primaries import PrimaryAdvice
from cli.advice.record import PATH, record_lock
from cli.advice.repeat import interval, repeat
from cli.advice.sources import Source, add_source_arguments, read_source
from cli.lifecycle.lifecycle_options import add_store_options
from conf.formats import size_text
from conf.kinds import size
from conf.names import ClusterName


def configure(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    add = parser.add_argument
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument("--plan", action="store_true", help="only show the advice (the default)")
    doing.add_argument("--apply", action="store_true", help="make and drop copies as advised")
    doing.add_argument("--undo", action="store_true", help="take back what was last applied")
    add(
        "--primaries",
        action="store_true",
        help="advice about tables' primaries, not about copies",
    )
    _add_aims(parser)
    _add_budgets(parser)
    add(
        "--drop-unread",
        action="store_true",
        help="drop also the copies that no statement could read, of all tables of the metastore",
    )
    add(
        "--schedule",
        action="store_true",
        help="with --apply: submit a feed for each table with a partition a day",
    )
    add(
        "--copy-options",
        default="",
        metavar="OPTIONS",
        help="options for causeway copy, such as '--master yarn'",
    )
    add(
        "--record",
        type=Path,
        default=PATH,
        metavar="FILE",
        help="record of what was applied, for --undo (%(default)s)",
    )
    add_store_options(parser)


def _add_aims(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the share of statements that must run, and for repeated planning."""
    add = parser.add_argument
    add(
        "--share",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="share of the statements that must run (%(default)s)",
    )
    add(
        "--hysteresis",
        type=float,
        metavar="SHARE",
        help="change nothing while no more than this is missing from the share (0; with --every"
        " 0.02)",
    )
    add(
        "--every",
        type=interval,
        metavar="TIME",
        help="with --apply: plan and apply again after this time, such as 24h, until stopped",
    )


def _add_budgets(parser: argparse.ArgumentParser) -> None:
    """Adds the options that limit the bytes of copies and the bytes sent between clusters."""
    add = parser.add_argument
    add(
        "--budget",
        action="append",
        default=[],
        metavar="CLUSTER=BYTES",
        help="most bytes of copies in the cluster, such as 20TB",
    )
    add(
        "--link",
        action="append",
        default=[],
        metavar="FROM:TO=BYTES",
        help="most bytes that may be sent a day",
    )
    add(
        "--link-cost",
        action="append",
        default=[],
        metavar="FROM:TO=FACTOR",
        help="cost of a sent byte; other links have 1",
    )
    add(
        "--refresh-days",
        type=float,
        default=REFRESH_DAYS,
        metavar="N",
        help="a byte sent each day counts as this many bytes kept (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    if (args.apply or args.undo) and args.target is None:
        print("causeway advise: --apply and --undo need --conf or --endpoints", file=sys.stderr)
        return 2
    if args.every is not None and not args.apply:
        print("causeway advise: --every needs --apply", file=sys.stderr)
        return 2
    if args.every is not None and args.primaries:
        print("causeway advise: --every cannot be used with --primaries", file=sys.stderr)
        return 2
    if args.undo:
        with record_lock(args.record):
            return undo(args)
    if not args.apply:
        return _advise(args)
    with record_lock(args.record):
        if args.every is not None:
            repeat(lambda: _advise(args), args.every, time.sleep)
        return _advise(args)


def _advise(args: argparse.Namespace) -> int:
    budgets = _budgets(args)
    source = read_source(args, all_tables=args.drop_unread)
    _check_clusters(budgets, source.stock)
    if args.primaries:
        return _advise_primaries(args, source, budgets)
    found = candidates(source.stock, source.replayed.demands, source.replayed.writes, budgets)
    made = policy_of(args).copies(found)
    plan = advice(found, made)
    if args.json:
        print(json.dumps(_document(found, made, plan), indent=2))
    else:
        print("\n".join(_lines(found, made, plan)))
    return Applier(args, source.stock).apply(plan) if args.apply else 0


def _advise_primaries(args: argparse.Namespace, source: Source, budgets: Budgets) -> int:
    about = PrimaryAdvice(source, budgets)
    print(json.dumps(about.document(), indent=2) if args.json else "\n".join(about.lines()))
    return about.apply(args) if args.apply else 0


def policy_of(args: argparse.Namespace) -> CopyPolicy:
    policy = CopyPolicy(args.share, drops_unread=args.drop_unread)
    if args.hysteresis is not None:
        return replace(policy, hysteresis=args.hysteresis)
    return policy if args.every is not None else replace(policy, hysteresis=0.0)


def _document(found: Candidates, made: frozenset[int], plan: list[Advice]) -> dict[str, object]:
    problem = found.problem
    return {
        "statements_a_day": round(problem.total, 3),
        "share_today": round(problem.met(found.present) / problem.total, 6),
        "share_then": round(problem.met(made) / problem.total, 6),
        "bytes": round(found.kept(made)),
        "bytes_a_day": round(found.sent(made)),
        "advice": [
            advice_document(each, found.stock) | {"command": command_of(each, found.stock)}
            for each in plan
        ],
    }


def _lines(found: Candidates, made: frozenset[int], plan: list[Advice]) -> Iterator[str]:
    problem = found.problem
    yield (
        f"{problem.met(found.present) / problem.total:.1%} of {problem.total:,.1f} statements a day"
        f" run today, {problem.met(made) / problem.total:.1%} will: {size_text(found.kept(made))}"
        f" of copies, {size_text(found.sent(made))} sent a day"
    )
    for each in plan:
        about = advice_document(each, found.stock)
        partitions = f" {about['partitions']}" if about["partitions"] else ""
        yield (
            f"{each.action} {each.table}{partitions} in {each.cluster}: {_reason(each, found)};"
            f" {size_text(each.kept)}, {size_text(each.sent)} a day"
        )
        if each.action != "keep":
            yield f"    {command_of(each, found.stock)}"


def _reason(each: Advice, found: Candidates) -> str:
    if each.action != "drop":
        return f"{each.statements:,.1f} statements a day need it"
    if any((part, each.cluster) in found.read_parts for part in each.parts):
        return "no statement needs it beside the other copies"
    return "no statement could read it"


def _budgets(args: argparse.Namespace) -> Budgets:
    return Budgets(
        {ClusterName(name): _bytes(value) for name, value in map(_pair, args.budget)},
        {_link(name): _bytes(value) for name, value in map(_pair, args.link)},
        {_link(name): _number(value) for name, value in map(_pair, args.link_cost)},
        args.refresh_days,
    )


def _check_clusters(budgets: Budgets, stock: Stock) -> None:
    links = (*budgets.sent, *budgets.cost)
    for name in (*budgets.kept, *(name for link in links for name in link)):
        if name not in stock.clusters:
            raise BadPlan(f"there is no cluster {name} ({', '.join(stock.clusters)}).")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadPlan(f"{text} is not NAME=VALUE.")
    return name, value


def _link(text: str) -> Link:
    source, colon, target = text.partition(":")
    if not colon:
        raise BadPlan(f"{text} is not FROM:TO.")
    return ClusterName(source), ClusterName(target)


def _bytes(text: str) -> float:
    try:
        return float(size(text.strip()))
    except ValueError as error:
        raise BadPlan(f"{error}.") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadPlan(f"{text} is no number.") from None
