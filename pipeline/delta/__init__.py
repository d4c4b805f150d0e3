"""Delta tables: what their logs name, and whether a copy of their files is a copy of the table."""
