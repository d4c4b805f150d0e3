"""Access to the databases of Causeway's own data, SQLite or PostgreSQL, and their migrations.

`open_database` opens a `Database` by its URL. The lifecycle's store and the history have tables,
migrations and a revision table of their own, so they can share one database.
"""
