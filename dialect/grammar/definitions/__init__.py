"""Statements that define or change tables, views and functions."""
