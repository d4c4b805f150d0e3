"""A statement's text to words as Spark's lexer reads them, and to sqlglot's trees."""
