"""Incremental pulls from Hudi tables, and their replication, without listing unchanged partitions.

An *instant* is the time that identifies an action on a table's *timeline*. A *commit* is a
completed action that wrote files. A *file group* holds a set of rows through their rewrites; its
*slice* is one base file with the logs on top of it. A *bookmark* is the instant up to which a
reader has read.

A pull goes one way: `table` opens the table, `changes` reads the timeline after the bookmark,
`plan` selects file slices, `read` reads their rows, and `folder` or `spark_target` writes them
with the new bookmark. `listing` is the input format's view of a table. `feeds` and `replicate`
copy whole tables.
"""
