"""Shared nouns and settings: what a table, a partition, a cluster and a placement are called.

Lowest layer: imports nothing of the project, does no I/O except `conf.settings.load`, which reads
settings files.
"""
