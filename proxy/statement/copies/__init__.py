"""Copies that are made for statements: for COPY, and for a query that no cluster can run."""
