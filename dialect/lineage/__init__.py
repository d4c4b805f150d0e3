"""From a parsed query to the tables, columns and views that it reads."""
