"""Measures drawing 100,000 partitions in five clusters by the console, and the sizes of its pages.

    python -m bench.pages [--partitions 100000] [--rounds 10]

Drawing includes the picture, the runs of equal neighbours and the first page of runs; the facts are
read before. Sizes are those of each screen with facts from the tests, and of all files that the
page loads. All runs in this process, without a server.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from conf.names import ClusterName
from console.pages.freshness import partitions_context
from console.sources.partition_states import partition_states
from tests.console.browser import Browser
from tests.console.fake_places import EAST
from tests.console.fake_sources import explained, open_app, statement
from tests.console.filled_sources import PATHS, filled
from tests.console.many_partitions import many

_SCREENS = ("/statements/a", *PATHS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="(%(default)s)")
    args = parser.parse_args()
    clusters = [EAST, *map(ClusterName, ("c2", "c3", "c4", "c5"))]
    states = partition_states(many(args.partitions), clusters)
    wall, used = [], []
    for _ in range(args.rounds):
        before = time.perf_counter(), time.process_time()
        context = partitions_context("w.big", states, time.time(), {})
        wall.append((time.perf_counter() - before[0]) * 1e3)
        used.append((time.process_time() - before[1]) * 1e3)
    times = ", ".join(
        f"{median(each):.0f} ms of {name} ({min(each):.0f} at least)"
        for name, each in (("processor time", used), ("time", wall))
    )
    drawn = len(context["picture"]) / 1e3
    print(f"{args.partitions:,} partitions in {len(clusters)} clusters: {times}, {drawn:.0f} kB")
    with tempfile.TemporaryDirectory() as folder:
        for path, own, loaded in sizes(Path(folder)):
            print(
                f"{path:36} {own / 1e3:6.1f} kB, {(own + loaded) / 1e3:6.1f} kB with all it loads"
            )


def sizes(folder: Path) -> list[tuple[str, int, int]]:
    """Each screen with the bytes of its page, and of the files that it loads."""
    sources: Any = filled(folder)
    one = statement("a")
    sources.history.statements = [one] + [statement(f"b{n}") for n in range(300)]
    sources.proxies.explained = {one["text"]: explained()}
    browser, found = Browser(open_app(sources)), []
    for path in _SCREENS:
        answer = browser.get(path)
        assert answer.status == 200, path
        files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', answer.text))
        loaded = [browser.get(each.replace("&amp;", "&")) for each in files]
        found.append((path, len(answer.body), sum(len(each.body) for each in loaded)))
    return found


if __name__ == "__main__":
    main()
