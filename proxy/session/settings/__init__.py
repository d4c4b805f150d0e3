"""Clients' settings, sent when they open a session or by SET: their meaning and restrictions."""
