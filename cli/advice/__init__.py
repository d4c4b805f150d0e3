"""Commands about statements of the past: assess and advise."""
