"""Searches for bytes that break a reader, guided by the code that they reach.

    python -m tests.fuzz [TARGET ...] [--runs 1000000] [--seconds 600] [--keep]

Each target runs in a process of its own, beginning with its corpus of tests/fuzz/corpus, within
bounds of memory and of time for each input. A finding ends it, and its bytes are written beside:
they belong into the corpus, under a name that says what was wrong, together with the remedy.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_MEMORY = 1024  # MB
_SLOWEST = 5  # seconds for one input
_LONGEST = 1024  # bytes; longer inputs only take longer


def main() -> int:
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="(all without any)")
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs (%(default)s)")
    parser.add_argument("--seconds", type=int, default=600, help="for each target (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep inputs that reach new code")
    args = parser.parse_args()
    failed = []
    for name in args.targets or TARGETS:
        print(f"{name}:", flush=True)
        if not look(name, args.runs, args.seconds, args.keep):
            failed.append(name)
    print("findings in " + ", ".join(failed) if failed else "no findings")
    return 1 if failed else 0


def look(name: str, runs: int, seconds: int, keep: bool) -> bool:
    """Runs one target; returns whether it found no fault."""
    kept = str(CORPUS / name)
    with tempfile.TemporaryDirectory() as found:
        status = _fuzzer(
            name,
            f"-runs={runs}",
            f"-max_total_time={seconds}",
            f"-max_len={_LONGEST}",
            "-print_final_stats=1",
            f"-artifact_prefix={name}-",
            *(found, kept),
        )
        if keep and not status:  # by the branches that are taken, not by how often: few files
            _fuzzer(name, "-merge=1", "-use_counters=0", kept, found)
    return not status


def _fuzzer(name: str, *words: str) -> int:
    bounds = (f"-rss_limit_mb={_MEMORY}", f"-timeout={_SLOWEST}", "-verbosity=0")
    command = [sys.executable, "-m", "tests.fuzz.one", name, *bounds, *words]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
