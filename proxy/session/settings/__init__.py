"""What a client may set: when it opens a session, by SET, and Causeway's own settings."""
