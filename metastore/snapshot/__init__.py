"""What the router knows of the metastore: facts in memory, and their loading."""
