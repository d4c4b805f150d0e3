"""Which partitions a query reads: conditions on partition keys, and their evaluation."""
