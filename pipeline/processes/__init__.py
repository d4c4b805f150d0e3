"""Runs the workflow of a process's instance with its engine.

`parameters` computes the script's parameters. `hive` runs SQL through HiveServer2; `commands`
builds the command lines of Spark and Pig, and `program` runs them under a lease.
"""
