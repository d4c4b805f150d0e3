"""How writers and readers of the metastore learn of each other's changes, through the views.

Writers: `view_sync` locks tables in the views and reports changes to them; `notifying_client` does
so for each call of a client. Readers: `feed_client` reads a view's feed of changes, and
`change_tracker` keeps the tables that have not changed since they were read.
"""
