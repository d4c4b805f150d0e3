"""Statements that ended, as rows of the history.

A `Record` becomes a row when its statement ends, and the row is completed when the client can
fetch no more. `HistoryRunner` only queues both on the event loop; its thread makes the rows and
writes them in batches. `database.history` has the tables and the searches.
"""
