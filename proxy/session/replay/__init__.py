"""The journal of a session's changes, and their repetition in other clusters."""
