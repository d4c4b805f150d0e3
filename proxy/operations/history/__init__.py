"""Statements that ended, as rows of the history.

A `Record` becomes a row when its statement ends, and its row is completed when its client can
fetch no more. `History` takes both on the event loop and does no more than queue them; its thread
makes the rows and writes them in batches. `database.history` has the tables and the searches.
"""
