"""The files that one statement enters, in the order of execution, and the returns to them.

    python -m bench.statements.files [SQL]

The proxy runs in this process before clusters and a metastore of the tests. Counted are moves from
a file to another one by a call, from the client's ExecuteStatement to the end of the statement.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.proxy.fakes import World, play

ROOT = Path(__file__).parents[2]
ROOMS = ("proxy", "router", "dialect", "metastore", "conf", "thriftcodec")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.files", description=__doc__)
    parser.add_argument("sql", nargs="?", default="SELECT * FROM e WHERE id = 2")
    play(lambda world: _walk(world, parser.parse_args().sql))


async def _walk(world: World, sql: str) -> None:
    client = await world.client()
    assert await client.rows("SELECT * FROM e WHERE id = 1") == 1  # the cluster's session is open
    with stays() as files:
        await client.execute(sql)
    for file in dict.fromkeys(files):
        print(f"{files.count(file):4} {file}")
    print(f"{len(set(files))} files, {len(files) - len(set(files))} returns to one of them")


@contextmanager
def stays() -> Iterator[list[str]]:
    """The files that are entered meanwhile, one entry a stay."""
    found: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or not path.is_relative_to(ROOT):
            return
        file = path.relative_to(ROOT)
        if file.parts[0] in ROOMS and (not found or found[-1] != str(file)):
            found.append(str(file))

    sys.setprofile(called)
    try:
        yield found
    finally:
        sys.setprofile(None)


if __name__ == "__main__":
    main()
