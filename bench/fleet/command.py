"""`python -m bench.fleet`: simulates a day of a large fleet with the real decisions.

    python -m bench.fleet --scale 0.01
    python -m bench.fleet --scale 1 --routed 0.2 --json day.json --html day.html
    python -m bench.fleet.limits

A million tables (`--scale 1`), ten clusters, a hundred million partitions and ten million
statements: every template goes through the analysis and every statement through the cache and the
router. `--routed` decides only a share of the reads; the report says which. `bench.fleet.limits`
measures the product's own classes at that size. docs/internals/scale.md has the results.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from bench.fleet.day import REPLAYED, SNAPSHOT_LIMIT, SNAPSHOT_TTL, Day, Options
from bench.fleet.report import as_text, figures, page, times


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.fleet",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--scale", type=float, default=0.01, help="1: a million tables (%(default)s)")
    add("--seed", type=int, default=1, help="equal seeds give equal figures (%(default)s)")
    add("--routed", type=float, default=1.0, help="share of the reads to decide (%(default)s)")
    add("--replayed", type=int, default=REPLAYED, help="statements in advice's log (%(default)s)")
    add("--limit", type=int, default=SNAPSHOT_LIMIT, help="snapshot.limit (%(default)s)")
    add("--ttl", type=float, default=SNAPSHOT_TTL, help="snapshot.ttl (%(default)s)")
    add("--json", type=Path, metavar="FILE", help="write all figures and times")
    add("--html", type=Path, metavar="FILE", help="write a page with curves")
    args = parser.parse_args()
    options = Options(args.scale, args.seed, args.routed, args.replayed, args.limit, args.ttl)
    course = asyncio.run(Day(options).run(lambda line: print(line, file=sys.stderr, flush=True)))
    if args.json is not None:
        both = {"figures": figures(course), "times": times(course)}
        args.json.write_text(json.dumps(both, indent=1), encoding="utf-8")
    if args.html is not None:
        args.html.write_text(page(course), encoding="utf-8")
    print("\n".join(as_text(course)))
