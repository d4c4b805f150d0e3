"""`causeway assess`: replays statements of the past. Reports which run, why the others do not, and
which copies would help.

causeway assess queries.sql --tables tables.json
causeway assess eventlogs/ --conf causeway.toml --html assessment.html
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from advice.assessment import Assessment, Point, advice_document, assess
from advice.copies import candidates
from advice.pages.assessment_page import page
from advice.replay import ReplayVerdict
from cli.advice.sources import add_source_arguments, read_source
from conf.formats import size_text

_SHOWN = 20  # copies that are printed for one point; --json has all
_TEXT = 100  # characters that are printed of a reason or an example


def configure(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with curves")


def run(args: argparse.Namespace) -> int:
    source = read_source(args)
    found = candidates(source.stock, source.replayed.demands, source.replayed.writes)
    assessment = assess(source.replayed, found, source.unread.counts)
    if args.html is not None:
        args.html.write_text(page(assessment), encoding="utf-8")
    if args.json:
        print(json.dumps(assessment.document(), indent=2))
    else:
        print("\n".join(as_text(assessment)))
    return 0


def as_text(found: Assessment) -> Iterator[str]:
    """Lines for a terminal."""
    replayed = found.replayed
    yield (
        f"{replayed.statements:,} statements ({replayed.texts:,} texts,"
        f" {replayed.templates:,} templates), {replayed.rate:,.1f} a day"
    )
    for verdict in ReplayVerdict:
        count = replayed.verdicts.get(verdict, 0)
        yield f"{count:>10,}  {verdict.value}  {count / replayed.statements:.1%}"
        for group in replayed.groups.get(verdict, ()):
            yield f"{group.statements:>14,}  {_short(group.reason)}"
            yield f"{'':16}{_short(group.example)}"
    for reason, count in sorted(found.unread.items()):
        yield f"{count:>10,}  not read: {reason}"
    yield (
        f"{found.today:.1%} run today (by statements a day), {found.reachable:.1%} would with all"
        f" copies, which are {size_text(found.everything)}"
    )
    if found.sizes_unknown:
        yield f"the sizes of {found.sizes_unknown} tables are not known and estimated"
    for point in found.points:
        yield from _point(point, found)


def _point(point: Point, found: Assessment) -> Iterator[str]:
    made = [each for each in point.advice if each.action != "drop"]
    reached = "" if point.reached >= point.share - 1e-6 else f" (only {point.reached:.1%})"
    yield (
        f"{point.share:.1%} run{reached} with {len(made)} copies: {size_text(point.kept)} kept,"
        f" {size_text(point.sent)} written a day"
    )
    if point.share not in (0.9, 0.95, 0.99):
        return
    for each in made[:_SHOWN]:
        about = advice_document(each, found.stock)
        partitions = f" {about['partitions']}" if about["partitions"] else ""
        yield (
            f"    {each.table}{partitions} to {each.cluster}: {size_text(each.kept)},"
            f" {size_text(each.sent)} a day, {each.statements:,.1f} statements a day need it"
        )
    if len(made) > _SHOWN:
        yield f"    and {len(made) - _SHOWN} more"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else f"{line[:_TEXT]}.."
