"""What is kept of one statement, without secrets and control characters."""
