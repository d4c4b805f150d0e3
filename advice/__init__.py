"""Replays past statements through the analysis and the router, and plans copies for them.

- A *statement log* has texts with their times.
- A *stock* describes the tables: schemas, replicas and sizes.
- A *part* is copied as a unit: a table, or its partitions of an age.
- An *outcome* says whether a text runs, and which clusters could run it if they had which parts.
- A *demand* is a number of statements a day that need the same parts.
- A *plan* is a set of copies with which a share of the demands runs at a low price.

Nothing here does I/O.
"""
