"""Finds the tables, partitions and paths that a statement reads and writes.

`analyze` answers Known, Unknown (with the reason) or Needs (tables that the catalog has not
loaded). Pure: no I/O. sqlglot is imported here and nowhere else, and none of its types leaves.
"""
