"""The history: statements, copies and instances that ended, in one database.

`HistoryThread` writes rows in batches, so that callers do not wait for the database. The proxy
writes statements; `causeway copy` and the lifecycle's servers write `CopyRecord`s and
`InstanceRecord`s. Operators' requests are functions of an SQLAlchemy connection: `search` finds
statements, `work_search` copies and instances, `refusals` and `summaries` count refused statements,
lineage and traffic. `QUESTIONS` has them by name.
"""
