"""Passwords checked by a file of hashes or by the operator's own code."""
