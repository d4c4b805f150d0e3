"""A client of the view: its connection, its limits, its requests, and its way to the metastore."""
