"""Copies of tables and partitions: planned as data, carried by Spark, published in one change.

A *copy* is a secondary copy in another cluster of the same metastore (DC-P1); a *replica* is a
table or partition of another metastore (FA-R1..R10). An *object* is an unpartitioned table or
one partition. A *run* is one execution of a plan; its *staging* is the directory of the target
cluster that holds the fresh directory of each object. A *listing* is what an object's directory
held at one moment.
"""
