"""Finds the tables, partitions and paths that a statement reads and writes.

`analyze` returns Known, Unknown with the reason, or Needs with the tables that the catalog has not
loaded. It does no I/O. sqlglot is imported in this room alone, and no result has a type of it.
"""
