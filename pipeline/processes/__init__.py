"""Runs a process's workflow: its parameters, and the script of each engine.

`parameters` is pure. `hive` runs SQL through HiveServer2, `spark` builds a spark-submit, `pig`
the command that the operator configured; `program` runs such a command under a lease.
"""
