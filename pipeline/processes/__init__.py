"""Running a process's workflow: its parameters, and one way to run each engine's script.

`parameters` is pure. `hive` runs SQL through HiveServer2, `spark` builds a spark-submit, `pig`
the command that the operator configured; `program` runs such a command under a lease.
"""
