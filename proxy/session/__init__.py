"""What a user's session is, apart from any connection and cluster: pure state, no I/O.

A session belongs to a user. Its journal has, in order, every statement that changed the
session; a cluster's own session is caught up from it before a statement runs there.
"""
