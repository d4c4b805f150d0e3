"""The embedded stack: a metastore and one Spark Thrift Server per cluster, as child processes.

A `StackSpec` says what is wanted and a `Layout` where its files are; `plan` turns both into
`Service`s (a command line, its environment, a log) without doing anything; `Stack` writes the
files, starts the services, waits until all answer and ends them.
"""
