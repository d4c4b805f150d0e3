"""The audit log: its events, and the file."""
