"""The history: statements, copies and instances that ended, in one database.

`HistoryThread` writes rows in batches, so that nothing waits for the database; the proxy gives it
statements, `causeway copy` and the lifecycle's servers `CopyRecord`s and `InstanceRecord`s. What
operators ask are functions of an SQLAlchemy connection: `search` of statements, `work_search` of
copies and instances, `summaries` of refusals, lineage and traffic. `QUESTIONS` has them by name.
"""
