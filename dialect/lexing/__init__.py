"""Reads a text as Spark does: lexemes, tokens, and what Spark's versions read differently."""
