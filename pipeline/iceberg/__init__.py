"""Reads metadata of Iceberg tables and rewrites it for another folder. Pure functions of bytes."""
