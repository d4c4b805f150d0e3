"""The processes of a server: one worker, and the supervisor of several."""
