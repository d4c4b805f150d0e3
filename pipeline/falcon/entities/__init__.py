"""Cluster, feed, process and datasource as values.

`line` is an element's line in its document, for messages; it does not count for equality.
"""
