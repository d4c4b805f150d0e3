"""The facts of the metastore that the router uses, in memory, and how they are loaded."""
