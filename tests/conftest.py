"""The environment of every process that a test starts: its Java compiler and its import path."""

import os
from pathlib import Path

# A test's Java lives for a minute and never gets back what the second compiler costs: a Thrift
# Server that starts and runs four statements takes half the processor time without it.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

# A Python process that a test starts imports the code under test, also where the installed package
# is older: an editable installation knows only the top-level packages that there were.
_ROOT = str(Path(__file__).resolve().parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
