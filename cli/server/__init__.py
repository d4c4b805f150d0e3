"""Commands that run the proxy or talk to a running one."""
