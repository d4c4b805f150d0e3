"""`python -m bench.advice NAME`."""

import sys
from importlib import import_module

NAMES = ("tpcds", "drift", "large", "assess")

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"one of {', '.join(NAMES)}, not {name}")
        import_module(f"bench.advice.{name}").main()
