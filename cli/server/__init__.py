"""Commands that run the proxy or call a running one, and the processes that it starts."""
