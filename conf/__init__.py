"""Names and values that every room uses: clusters, tables, partitions, placement, settings, logs.

It is the lowest layer and imports nothing else of the project.
"""
