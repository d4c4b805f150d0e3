"""Statements that are not queries, read word by word."""
