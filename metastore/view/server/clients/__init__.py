"""A client of the view: its log-in, limits, requests and replies, and its own connection to the
metastore."""
