"""The calls of a client's connection, by subject."""
