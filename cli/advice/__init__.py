"""Commands that analyse statements of the past: assess and advise."""
