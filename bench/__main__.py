"""`make bench`: one table of what Causeway costs, all from one run on one embedded stack.

    python -m bench [--rounds N] [--partitions N]

Each figure is compared with the same call to the Thrift Server directly, by turns. Other benchmarks
have a module each in the folders beside this one, such as bench.statements.routing.
"""

import argparse

from bench import proxy
from bench.catalogs import metastore
from bench.support.embedded import EAST, embedded
from pipeline.spark.jar import guard_jar

TARGETS = {"get_table, cached": "< 1 x", "get_partitions": "<= 1.3 x"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=float, default=1.0, help="more or fewer (%(default)s)")
    parser.add_argument("--partitions", type=int, default=10_000, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, guard=guard_jar()) as (stack, listen):
        proxy.run(stack.ports.hs2[EAST], listen, args.rounds)
        rounds = max(3, round(9 * args.rounds))
        for row in metastore.run(stack.ports.metastore, args.partitions, rounds):
            print(in_columns(row))


def in_columns(row: metastore.PairedTimes) -> str:
    """A row of the metastore's table, in the columns of the proxy's table."""
    plus = row.view - row.direct
    return (
        f"{row.what:38} {row.view:10.3f} {row.ratio:7.2f} {plus:8.3f}  {TARGETS.get(row.what, '')}"
    )


if __name__ == "__main__":
    main()
