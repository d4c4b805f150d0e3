"""Statements of the past replayed through the analysis and the router: what would have run.

A *statement log* has texts with their times. A *stock* is what is known of the tables: schemas,
replicas, sizes. A *part* is what is copied as one: a table, or its partitions of an age. An
*outcome* is what became of a text: it runs, or the clusters that could run it if they had these
parts. *Demands* are outcomes by what they need, in statements a day. A *plan* is a set of copies
that lets a share of the demands run at a low price. Nothing here does I/O.
"""
