"""Replication of tables between two metastores, and of directories without a metastore."""
