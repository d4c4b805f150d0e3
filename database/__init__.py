"""The databases that Causeway keeps its own data in: SQLite and PostgreSQL, and their migrations.

A `Database` is opened by its URL; each user of it has tables, migrations and a version table of its
own, so that several can share one database.
"""
