"""The audit log: its events and its file."""
