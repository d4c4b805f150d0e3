"""What holds for every test: how the Java processes that it starts are compiled."""

import os

# A test's Java lives for a minute and never gets back what the second compiler costs: a Thrift
# Server that starts and runs four statements takes half the processor time without it.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
