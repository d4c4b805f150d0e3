"""The worker processes of a server: started, counted and called."""
