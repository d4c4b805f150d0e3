"""Looks for bytes that a reader takes amiss, guided by what they make it do.

    python -m tests.fuzz [TARGET ...] [--runs 1000000] [--seconds 600]

Each target runs in a process of its own with its corpus of tests/fuzz/corpus, to which what leads
further is added (`--keep`). A finding ends it, and its bytes are written beside.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
_MEMORY = 1024  # MB
_SLOWEST = 5  # seconds for one input


def main() -> int:
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="all, when none")
    parser.add_argument("--runs", type=int, default=1_000_000, help="inputs (%(default)s)")
    parser.add_argument("--seconds", type=int, default=600, help="a target (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep what leads further")
    args = parser.parse_args()
    failed = []
    for name in args.targets or TARGETS:
        with tempfile.TemporaryDirectory() as found:
            folders = [str(CORPUS / name)] if args.keep else [found, str(CORPUS / name)]
            options = [
                f"-runs={args.runs}",
                f"-max_total_time={args.seconds}",
                f"-rss_limit_mb={_MEMORY}",
                f"-timeout={_SLOWEST}",
                "-max_len=2048",
                "-print_final_stats=1",
                "-verbosity=0",
                f"-artifact_prefix={name}-",
            ]
            words = [sys.executable, "-c", _RUN, name, *options, *folders]
            print(f"{name}:", flush=True)
            if subprocess.run(words, check=False).returncode:
                failed.append(name)
    print("findings in " + ", ".join(failed) if failed else "no findings")
    return 1 if failed else 0


_RUN = """
import sys
import atheris
with atheris.instrument_imports(include=["proxy", "jwt"]):
    from tests.fuzz.targets import TARGETS
atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
atheris.Fuzz()
"""

if __name__ == "__main__":
    sys.exit(main())
