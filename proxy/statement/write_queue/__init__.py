"""The order of statements that write the same table, in one process or over all workers."""
