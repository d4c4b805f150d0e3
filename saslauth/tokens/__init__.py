"""Delegation tokens of Hadoop, and the log-in with them: DIGEST-MD5, of both sides."""
