"""What rows of results cost: packed in columns, read through JDBC, left unread."""
