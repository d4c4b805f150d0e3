"""Tokens to sqlglot's trees, where Spark's parser and sqlglot read alike."""
