"""Metadata of Iceberg tables, read and rewritten for another folder. Pure functions of bytes."""
