"""Compares copies with `cp -r` and DistCp.

    python -m bench.copies.copy [--files 2000] [--size 2500000] [--rounds 3] [--distcp JAR]

Each round measures all ways in turn, beginning with another one. Ratios are medians of the rounds'
own ratios, because the machine's speed changes. The Spark session is open and warm: it has copied
some files, and its code is compiled. The source is in the page cache.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import spark_home
from pipeline.copy.files import CopyOptions, FileCopy
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

Way = Callable[[Path], object]
WARM = 4  # small copies before the first that is measured
SETTLE = 5.0  # seconds for Java's compilers to finish the work of Spark's start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--size", type=int, default=2_500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--distcp", type=Path, help="hadoop-distcp's jar")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeway-copy-bench-") as folder:
        throughput(Path(folder), args.files, args.size, args.rounds, args.distcp)


def throughput(folder: Path, count: int, size: int, rounds: int, distcp: Path | None) -> None:
    """Measures each way with `count` files."""
    source = folder / "source"
    source.mkdir()
    block = os.urandom(size)
    for number in range(count):
        (source / f"part-{number:05d}").write_bytes(block[number:] + block[:number])
    files = SparkFiles(open_session("local[2]", {"spark.driver.memory": "1g"}))
    ways = ways_of(files, source, folder, distcp)
    for number in range(WARM):
        timed_copy(files, source, folder / f"first-{number}", checksum=number % 2 == 0, most=100)
        hollow(folder / f"first-{number}")
    time.sleep(SETTLE)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the first round")
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for round_ in range(rounds):
        turns = list(ways)
        turns = turns[round_ % len(turns) :] + turns[: round_ % len(turns)]
        for way in turns:
            target = folder / f"target-{round_}-{turns.index(way)}"
            os.sync()
            taken[way].append(seconds(partial(ways[way], target)))
            hollow(target)
    print(f"{count * size / 1e9:.1f} GB in {count} files, {rounds} rounds")
    for way, times in taken.items():
        ratios = [a / b for a, b in zip(taken["cp -r"], times, strict=True)]
        spread = f"{min(times):.2f}..{max(times):.2f}"
        median, ratio = statistics.median(times), statistics.median(ratios)
        print(f"{way:<28} {median:6.2f} s ({spread})  {ratio:.2f} x cp -r")


def ways_of(files: SparkFiles, source: Path, folder: Path, distcp: Path | None) -> dict[str, Way]:
    """The functions that copy the source to a new target, by name."""
    ways: dict[str, Way] = {
        "cp -r": lambda to: subprocess.run(["cp", "-r", source, to], check=True),
        "copy": lambda to: timed_copy(files, source, to, checksum=False),
        "copy, checksums read back": lambda to: timed_copy(files, source, to, checksum=True),
    }
    if distcp is not None:
        ways["DistCp, local mode"] = lambda to: run_distcp(distcp, folder, source, to)
    return ways


def hollow(target: Path) -> None:
    """Truncates the files instead of deleting them: after thousands of deletions, ext4 searches
    long for free inodes, which would distort the measurement.
    """
    for file in target.iterdir():
        os.truncate(file, 0)


def timed_copy(
    files: SparkFiles, source: Path, target: Path, *, checksum: bool, most: int = 0
) -> None:
    [listing] = files.listings([source.as_uri()])
    assert listing is not None
    entries = listing.files[: most or None]
    orders = [FileCopy(source.as_uri(), target.as_uri(), entry) for entry in entries]
    results = files.copy_files(orders, CopyOptions(checksum=checksum))
    assert {result.status.value for result in results} == {"sent"}


def run_distcp(jar: Path, folder: Path, source: Path, target: Path) -> None:
    """Runs Hadoop's DistCp with Spark's jars; its job runs in the same process."""
    java, home = find_java(), spark_home()
    words = [*jvm(java, "2g", folder), "-cp", f"{jar}{os.pathsep}{home / 'jars'}/*"]
    words += ["org.apache.hadoop.tools.DistCp", "-m", "2", source.as_uri(), target.as_uri()]
    subprocess.run(words, check=True, capture_output=True, cwd=folder)


def seconds(go: Callable[[], object]) -> float:
    began = time.perf_counter()
    go()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
