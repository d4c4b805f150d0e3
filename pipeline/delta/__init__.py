"""Delta tables: which files their logs name, and whether a copy of the files is the table."""
