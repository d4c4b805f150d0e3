"""Statements that are not queries, read token by token."""
