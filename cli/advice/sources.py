"""The arguments that name a log and its tables, and the replay of both."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from advice.demand import HALF_LIFE, ReplaySummary, TextCounts, summarize
from advice.errors import BadLog, BadStock
from advice.sessions import in_context
from advice.statement_log import Format, Logged, Unread
from advice.stock import Stock
from advice.stock_document import read_stock
from cli.advice.log_files import history, statements
from cli.advice.metastore_stock import MetastoreStock
from cli.advice.replayer import Load, replayed
from cli.target import add_target_arguments
from conf.settings.load import load as load_settings
from conf.settings.settings import Settings
from dialect.analyze import analyze
from dialect.statement import Analysis, Namespace, Needs

_ROUNDS = 64
_SEED = 20  # fixed, so that equal logs give equal samples


@dataclass(frozen=True, slots=True)
class Source:
    """A stock of tables and the replayed statements. `settings` is None if a document describes the
    tables; `unread` counts statements that could not be read."""

    stock: Stock
    settings: Settings | None
    replayed: ReplaySummary
    unread: Unread


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for logs, tables and the weight of old statements."""
    add = parser.add_argument
    add(
        "logs",
        nargs="*",
        type=Path,
        metavar="LOG",
        help="files of statements, or directories of them; .gz too",
    )
    add_target_arguments(parser).add_argument(
        "--tables", type=Path, metavar="FILE", help="a description of tables instead of a metastore"
    )
    add("--history", action="store_true", help="also the statements of history.store")
    add(
        "--format",
        choices=[each.value for each in Format],
        help="format of the files (default: detected from their first line)",
    )
    add(
        "--days",
        type=float,
        default=1.0,
        metavar="N",
        help="days over which statements without a time are spread (%(default)s)",
    )
    add(
        "--half-life",
        type=float,
        default=HALF_LIFE,
        metavar="DAYS",
        help="age at which a statement has half the weight (%(default)s)",
    )
    add(
        "--processes",
        type=int,
        default=0,
        metavar="N",
        help="processes that replay (0: one for each processor)",
    )
    add(
        "--sample",
        type=_share,
        default=1.0,
        metavar="SHARE",
        help="replay only a random sample of this share of the statements (%(default)s)",
    )
    add("--json", action="store_true", help="print one JSON object")


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 1")
    return share


def read_source(args: argparse.Namespace, *, all_tables: bool = False) -> Source:
    """Reads the log and replays its statements. The stock has the tables that the statements name,
    or with `all_tables` every table. Raises CausewayError."""
    unread = Unread()
    settings = None if args.target is None else load_settings(args.target)
    load: Load | None = None
    if settings is None:
        stock = _described(args.tables)
    else:
        tables = MetastoreStock(settings)
        stock, load = tables.stock, tables.load
        if all_tables:
            tables.load_all()
    tally, random = TextCounts(), Random(_SEED)
    log = _log(args, settings, unread)
    for each, namespace in in_context(log, lambda sql, names: _analysed(sql, names, stock, load)):
        if args.sample == 1 or random.random() < args.sample:
            tally.add(each, namespace)
    if not tally.counts:
        raise BadLog("there is no statement to replay.")
    rates = tally.rates(args.half_life, args.days)
    if args.sample < 1:
        rates = {work: rate / args.sample for work, rate in rates.items()}
    processes = args.processes or os.cpu_count() or 1
    found = replayed(tally, stock, load, processes)
    result = summarize((work, tally.counts[work], rates[work], each) for work, each in found)
    return Source(stock, settings, result, unread)


def _log(args: argparse.Namespace, settings: Settings | None, unread: Unread) -> Iterator[Logged]:
    if args.history:
        if settings is None:
            raise BadLog("--history needs --conf or --endpoints.")
        yield from history(settings, unread)
    form = None if args.format is None else Format(args.format)
    yield from statements(args.logs, form, unread)


def _described(path: Path) -> Stock:
    try:
        return read_stock(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadStock(f"{path} cannot be read: {error}") from None


def _analysed(sql: str, namespace: Namespace, stock: Stock, load: Load | None) -> Analysis:
    for _ in range(_ROUNDS):
        found = analyze(sql, namespace, stock)
        if not isinstance(found, Needs) or load is None:
            break
        load(sorted(found.tables))
    return found
