"""Statements that change the session, its variables and its temporary objects."""
