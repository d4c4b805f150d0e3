"""Names and values that every room uses: clusters, tables, partitions, placement, settings, logs.

The lowest layer: it imports nothing else of the project. Only `settings.load` and `secrets` read
files, and only `logs` writes.
"""
