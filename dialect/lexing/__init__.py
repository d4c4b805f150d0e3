"""A text as Spark reads it: lexemes, tokens, and what versions read differently."""
