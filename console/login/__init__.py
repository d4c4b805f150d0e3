"""Logging in to the console: sessions, what every request passes, the record of actions."""
