"""Replication between two metastores, and of directories."""
