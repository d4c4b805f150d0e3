"""Secondary copies of tables and partitions, and the run that replications between metastores
share.

A *copy* lies in another cluster of the same metastore (DC-P1). A *replica* is a table or partition
of another metastore (FA-R1..R10). An *object* is an unpartitioned table or one partition.

A *plan* is a sequence of steps, decided before anything is done. A *run* executes one plan. The
*staging* directory of a table, in the target cluster, has one directory for each run, and in it one
for each object. A *marker* is a small file that a run writes there. A *listing* is the content of a
directory at one moment.
"""
