"""The embedded stack: a metastore and one Spark Thrift Server per cluster, as child processes.

A `StackSpec` describes the stack, and a `StackLayout` has the paths of its files. `plan` turns both
into `Service`s (command line, environment, log) without I/O. `Stack` writes the files, starts the
services, waits until all answer, and ends them.
"""
